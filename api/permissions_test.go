package api

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"jianguo/exposure"
	"jianguo/index"
	"jianguo/ingest"
)

// member is a client on the bus of a rig that has tokens.
type member struct {
	t    *testing.T
	conn *nats.Conn
	js   jetstream.JetStream
}

func join(t *testing.T, url, secret string) *member {
	t.Helper()
	m := &member{t: t}
	var err error
	if m.conn, err = ingest.ConnectURL(url, nats.Token(secret), nats.ErrorHandler(func(*nats.Conn, *nats.Subscription, error) {})); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(m.conn.Close)
	if m.js, err = jetstream.New(m.conn); err != nil {
		t.Fatal(err)
	}
	return m
}

// refused reports whether the last thing that the server has refused was about
// a subject.
func (m *member) refused(subject string) bool {
	if err := m.conn.FlushTimeout(10 * time.Second); err != nil {
		m.t.Error(err)
	}
	err := m.conn.LastError()
	return errors.Is(err, nats.ErrPermissionViolation) && strings.Contains(err.Error(), `"`+subject+`"`)
}

func TestBusRoles(t *testing.T) {
	tokens := testTokens(t)
	r := newRig(t, rigConfig{
		bus: func(c *ingest.BusConfig) { c.Listen, c.Authenticate = "127.0.0.1:0", tokens.BusUser },
		api: func(c *Config) { c.Tokens = tokens },
	})
	js, err := jetstream.New(r.Conn)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := exposure.OpenNATSLog(t.Context(), js, exposure.StreamConfig{}, nil); err != nil {
		t.Fatal(err)
	}
	all := []string{platformToken, recallToken, editorToken, operatorToken}
	members := map[string]*member{}
	for _, secret := range all {
		members[secret] = join(t, r.Bus.URL(), secret)
	}
	for _, c := range []struct {
		kind, subject string
		may           []string
	}{
		{"publish", "items.publish", []string{platformToken, operatorToken}},
		{"publish", "items.withdraw", []string{platformToken, operatorToken}},
		{"publish", "items.check", []string{platformToken, editorToken, operatorToken}},
		{"publish", "items.dead", []string{operatorToken}},
		{"publish", "verdicts.unique", []string{operatorToken}},
		{"publish", "exposures.seen.0", []string{recallToken, operatorToken}},
		{"publish", "exposures.filter", []string{recallToken, operatorToken}},
		{"publish", "$JS.API.STREAM.DELETE.ITEMS", []string{operatorToken}},
		{"publish", "$JS.API.STREAM.PURGE.VERDICTS", []string{operatorToken}},
		{"publish", "$JS.API.CONSUMER.CREATE.ITEMS.x", []string{operatorToken}},
		{"publish", "$JS.API.CONSUMER.CREATE.EXPOSURES.x", []string{operatorToken}},
		{"publish", "$JS.API.CONSUMER.CREATE.VERDICTS.x", []string{platformToken, editorToken, operatorToken}},
		{"publish", "$SRV.PING", all},
		{"publish", "something.else", []string{operatorToken}},
		{"subscribe", "verdicts.>", []string{platformToken, editorToken, operatorToken}},
		{"subscribe", "verdicts.unique", []string{platformToken, editorToken, operatorToken}},
		{"subscribe", "items.>", []string{operatorToken}},
		{"subscribe", "items.check", []string{operatorToken}}, // nobody answers in our stead
		{"subscribe", "exposures.>", []string{operatorToken}},
		{"subscribe", "_INBOX.x.y", all},
		{"subscribe", ">", []string{operatorToken}},
	} {
		for _, secret := range all {
			m, may := members[secret], false
			for _, s := range c.may {
				may = may || s == secret
			}
			if c.kind == "subscribe" {
				sub, err := m.conn.SubscribeSync(c.subject)
				if err != nil {
					t.Fatal(err)
				}
				if m.refused(c.subject) == may {
					t.Errorf("%s on %s with %s: may %v", c.kind, c.subject, secret, may)
				}
				_ = sub.Unsubscribe()
				continue
			}
			// Nothing that a stream takes, nor an API that understands it.
			if strings.HasPrefix(c.subject, "$JS.API.STREAM") && secret == operatorToken {
				continue
			}
			if err := m.conn.Publish(c.subject, []byte("{")); err != nil {
				t.Fatal(err)
			}
			if m.refused(c.subject) == may {
				t.Errorf("%s on %s with %s: may %v", c.kind, c.subject, secret, may)
			}
		}
	}
}

// What each role is for works from one end to the other.
func TestBusRolesAtWork(t *testing.T) {
	tokens := testTokens(t)
	r := newRig(t, rigConfig{bus: func(c *ingest.BusConfig) { c.Listen, c.Authenticate = "127.0.0.1:0", tokens.BusUser }})
	shop, desk := join(t, r.Bus.URL(), platformToken), join(t, r.Bus.URL(), editorToken)
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	publisher, err := ingest.NewPublisher(shop.conn)
	if err != nil {
		t.Fatal(err)
	}
	for i := range 3 {
		payload, _ := json.Marshal(ingest.Item{ID: fmt.Sprint(i), Body: article(i)})
		if o, err := publisher.Submit(ctx, ingest.SubjectPublish, payload); err != nil || o.Event.Verdict != index.Unique {
			t.Fatalf("%+v, %v", o, err)
		}
	}
	if reply, err := shop.conn.RequestWithContext(ctx, checkSubject, []byte(`{"body":"`+article(1)+`"}`)); err != nil || !strings.Contains(string(reply.Data), `"duplicate"`) {
		t.Errorf("check: %s, %v", reply.Data, err)
	}
	for name, m := range map[string]*member{"platform": shop, "editor": desk} {
		ordered, err := m.js.OrderedConsumer(ctx, ingest.StreamVerdicts, jetstream.OrderedConsumerConfig{})
		if err != nil {
			t.Fatal(name, err)
		}
		durable, err := m.js.CreateOrUpdateConsumer(ctx, ingest.StreamVerdicts, jetstream.ConsumerConfig{Durable: name, AckPolicy: jetstream.AckExplicitPolicy})
		if err != nil {
			t.Fatal(name, err)
		}
		for i := range 3 {
			for kind, consumer := range map[string]jetstream.Consumer{"ordered": ordered, "durable": durable} {
				msg, err := consumer.Next(jetstream.FetchMaxWait(10 * time.Second))
				if err != nil {
					t.Fatal(name, kind, err)
				}
				var e index.Event
				if err := json.Unmarshal(msg.Data(), &e); err != nil || e.ID != fmt.Sprint(i) {
					t.Errorf("%s, %s: %s, %v", name, kind, msg.Data(), err)
				}
				if kind == "durable" {
					if err := msg.DoubleAck(ctx); err != nil {
						t.Error(name, err)
					}
				}
			}
		}
	}
	for _, m := range []*member{shop, desk} {
		if err := m.conn.LastError(); err != nil {
			t.Errorf("something of its own was refused: %v", err)
		}
	}
	r.noDeadLetters()
}

func TestBusTokens(t *testing.T) {
	tokens := testTokens(t)
	bus, err := ingest.StartBus(ingest.BusConfig{Dir: t.TempDir(), Listen: "127.0.0.1:0", Relaxed: true, Authenticate: tokens.BusUser})
	if err != nil {
		t.Fatal(err)
	}
	defer bus.Close()
	bare := strings.TrimPrefix(bus.URL(), "nats://")
	for _, url := range []string{bus.URL(), "nats://wrong-token-000000@" + bare, "nats://shop:wrong-token-000000@" + bare, "nats://" + platformToken + "x@" + bare, "nats://shop@" + bare} {
		nc, err := ingest.ConnectURL(url)
		if !errors.Is(err, ingest.ErrRefused) {
			t.Errorf("%s: %v", url, err)
		}
		if err == nil {
			nc.Close()
		} else if strings.Contains(err.Error(), "token-0000") || strings.Contains(err.Error(), platformToken) {
			t.Errorf("the error tells the secret: %v", err)
		}
	}
	for _, url := range []string{"nats://" + platformToken + "@" + bare, "nats://shop:" + platformToken + "@" + bare, "nats://" + bus.Secret() + "@" + bare} {
		nc, err := ingest.ConnectURL(url)
		if err != nil {
			t.Fatal(err)
		}
		nc.Close()
	}
}
