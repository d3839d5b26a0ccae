package api

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"jianguo/internal/fixture"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	busgate "jianguo/bus/gate"

	"jianguo/api/tokens"
	"jianguo/bus"
	"jianguo/exposure/eventlog"
	"jianguo/index"
	"jianguo/ingest"
	"jianguo/internal/testbed"
)

// member is a client on the bus of a test service with tokens.
type member struct {
	t    *testing.T
	conn *nats.Conn
	js   jetstream.JetStream
}

func join(t *testing.T, url, secret string) *member {
	t.Helper()
	m := &member{t: t}
	var err error
	if m.conn, err = bus.Connect(url, nats.Token(secret), nats.ErrorHandler(func(*nats.Conn, *nats.Subscription, error) {})); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(m.conn.Close)
	if m.js, err = jetstream.New(m.conn); err != nil {
		t.Fatal(err)
	}
	return m
}

// refused reports whether the last refusal of the server was about a subject.
func (m *member) refused(subject string) bool {
	if err := m.conn.FlushTimeout(patience); err != nil {
		m.t.Error(err)
	}
	err := m.conn.LastError()
	return errors.Is(err, nats.ErrPermissionViolation) &&
		(strings.Contains(err.Error(), `"`+subject+`"`) || strings.Contains(err.Error(), busgate.Prefix) && strings.Contains(err.Error(), `.`+subject+`"`))
}

// Permissions are the same with and without gates before the streams.
func TestBusRoles(t *testing.T) {
	t.Parallel()
	t.Run("gates", func(t *testing.T) { busRoles(t, false) })
	t.Run("relaxed", func(t *testing.T) { busRoles(t, true) })
}

func busRoles(t *testing.T, relaxed bool) {
	known := testTokens(t)
	r := newService(t, testConfig{
		bus: func(c *bus.Config) {
			c.Listen, c.Authenticate, c.Relaxed = "127.0.0.1:0", known.BusUser, relaxed
			c.Gates = append(bus.GatedStreams(), bus.GatedStream{Name: eventlog.StreamName, Subjects: eventlog.Subjects()})
		},
		api: func(c *Config) { c.Tokens = known },
	})
	js, err := jetstream.New(r.Conn)
	testbed.OK(t, err)
	if _, err := eventlog.Open(t.Context(), js, eventlog.Config{}, nil); err != nil {
		t.Fatal(err)
	}
	testbed.OK(t, r.Bus.Create(t.Context(), eventlog.StreamName, func() error { return nil }))
	all := []string{platformToken, recallToken, editorToken, operatorToken, monitorToken}
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
		{"publish", "exposures.seen", []string{recallToken, operatorToken}},
		{"publish", busgate.In("ITEMS") + "items.publish", []string{platformToken, operatorToken}},
		{"publish", busgate.In("DEAD") + "items.dead", []string{operatorToken}},
		{"publish", busgate.In("EXPOSURES") + "exposures.seen.0", []string{recallToken, operatorToken}},
		{"publish", "_gate.out.guessed.items.publish", []string{operatorToken}},
		{"publish", "_gate.ack.guessed.1", []string{operatorToken}},
		{"subscribe", "_gate.>", []string{operatorToken}},
		{"subscribe", busgate.In("ITEMS") + "items.publish", []string{operatorToken}},
		{"publish", "exposures.filter", []string{recallToken, operatorToken}},
		{"publish", "$JS.API.STREAM.DELETE.ITEMS", []string{operatorToken}},
		{"publish", "$JS.API.STREAM.PURGE.VERDICTS", []string{operatorToken}},
		{"publish", "$JS.API.CONSUMER.CREATE.ITEMS.x", []string{operatorToken}},
		{"publish", "$JS.API.CONSUMER.CREATE.EXPOSURES.x", []string{operatorToken}},
		{"publish", "$JS.API.CONSUMER.CREATE.VERDICTS.x", []string{platformToken, editorToken, operatorToken}},
		{"publish", "$SRV.PING", all},
		{"publish", "$JS.API.CONSUMER.INFO.ITEMS.x", []string{operatorToken, monitorToken}},
		{"publish", "something.else", []string{operatorToken}},
		{"subscribe", "verdicts.>", []string{platformToken, editorToken, operatorToken}},
		{"subscribe", "verdicts.unique", []string{platformToken, editorToken, operatorToken}},
		{"subscribe", "items.>", []string{operatorToken}},
		{"subscribe", "items.check", []string{operatorToken}}, // no client answers in place of the service
		{"subscribe", "exposures.>", []string{operatorToken}},
		{"subscribe", "_INBOX.>", []string{operatorToken}},
		{"subscribe", "_INBOX_shop.>", []string{platformToken, operatorToken}},
		{"subscribe", "_INBOX_张三.x.*", []string{editorToken, operatorToken}},
		{"subscribe", "_INBOX.shop.>", []string{platformToken, operatorToken}},
		{"subscribe", bus.InboxOfSecret(recallToken) + ".x.*", []string{recallToken, operatorToken}},
		{"subscribe", "_INBOX_.>", []string{operatorToken}}, // the service's own
		{"publish", "_INBOX_shop.x.y", []string{operatorToken}},
		{"subscribe", ">", []string{operatorToken}},
	} {
		for _, secret := range all {
			// Neither a subject of a stream nor an API that accepts the payload.
			if strings.HasPrefix(c.subject, "$JS.API.STREAM") && secret == operatorToken {
				continue
			}
			if may := slices.Contains(c.may, secret); members[secret].may(c.kind, c.subject) != may {
				t.Errorf("%s on %s with %s: want %v", c.kind, c.subject, secret, may)
			}
		}
	}
}

// may tries to publish or subscribe on a subject.
func (m *member) may(kind, subject string) bool {
	m.t.Helper()
	if kind == "publish" {
		testbed.OK(m.t, m.conn.Publish(subject, []byte("{")))
		return !m.refused(subject)
	}
	sub, err := m.conn.SubscribeSync(subject)
	testbed.OK(m.t, err)
	defer func() { _ = sub.Unsubscribe() }()
	return !m.refused(subject)
}

// Without tokens every client may do what clients do. No client may publish a message
// that looks like a verdict, or damage a stream.
func TestBusWithoutTokens(t *testing.T) {
	t.Parallel()
	r := newService(t, testConfig{bus: func(c *bus.Config) { c.Listen, c.Authenticate = "127.0.0.1:0", (*tokens.Set)(nil).BusUser }})
	m := join(t, r.Bus.URL(), "")
	for _, subject := range []string{"verdicts.unique", "verdicts.x", "items.dead", "$JS.API.STREAM.DELETE.ITEMS", "$JS.API.STREAM.PURGE.VERDICTS",
		"$JS.API.STREAM.UPDATE.ITEMS", "$JS.API.STREAM.CREATE.MINE", "$JS.API.STREAM.MSG.DELETE.DEAD", "$JS.API.CONSUMER.CREATE.ITEMS.x", "$JS.API.STREAM.RESTORE.ITEMS"} {
		if m.may("publish", subject) {
			t.Errorf("may publish on %s", subject)
		}
	}
	for _, subject := range []string{">", "items.check", "items.publish", "exposures.>", "_INBOX_.>", "_INBOX_shop.>"} {
		if m.may("subscribe", subject) {
			t.Errorf("may subscribe to %s", subject)
		}
	}
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	m = join(t, r.Bus.URL(), "")
	payload, _ := json.Marshal(ingest.Item{ID: "0", Body: article(0)})
	if o, err := fixture.Submit(ctx, m.js, bus.SubjectPublish, payload); err != nil || o.Event.Verdict != index.Unique {
		t.Fatalf("%+v, %v", o, err)
	}
	if reply, err := m.conn.RequestWithContext(ctx, bus.SubjectCheck, []byte(`{"body":"`+article(0)+`"}`)); err != nil || !strings.Contains(string(reply.Data), `"duplicate"`) {
		t.Errorf("check: %s, %v", reply.Data, err)
	}
	verdicts, err := m.js.OrderedConsumer(ctx, bus.StreamVerdicts, jetstream.OrderedConsumerConfig{})
	testbed.OK(t, err)
	if msg, err := verdicts.Next(jetstream.FetchMaxWait(patience)); err != nil || !strings.Contains(string(msg.Data()), `"id":"0"`) {
		t.Errorf("verdicts: %v", err)
	}
	var names []string
	for s := range m.js.ListStreams(ctx).Info() {
		names = append(names, s.Config.Name)
	}
	if !slices.Contains(names, bus.StreamItems) {
		t.Errorf("streams listed: %v", names)
	}
	if err := m.conn.LastError(); err != nil {
		t.Errorf("something ordinary was refused: %v", err)
	}
}

// A client that requests answers on a subject of the service gets none: a client must not
// choose what the service publishes there.
func TestSteeredReplies(t *testing.T) {
	t.Parallel()
	r := newService(t, testConfig{bus: func(c *bus.Config) {
		c.Listen, c.Authenticate, c.Gates, c.Relaxed = "127.0.0.1:0", (*tokens.Set)(nil).BusUser, bus.GatedStreams(), false
	}})
	m := join(t, r.Bus.URL(), "")
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	payload, _ := json.Marshal(ingest.Item{ID: "0", Body: article(0)})
	for _, to := range []string{"verdicts.unique", "items.withdraw", "exposures.seen.0", "$JS.API.STREAM.PURGE.ITEMS", "orders.new"} {
		testbed.OK(t, m.conn.PublishRequest(bus.SubjectPublish, to, payload))
		testbed.OK(t, m.conn.PublishRequest(bus.SubjectCheck, to, payload))
		msg := nats.NewMsg(bus.SubjectPublish)
		msg.Header.Set(bus.HeaderReply, to)
		msg.Data = payload
		if _, err := m.js.PublishMsg(ctx, msg); err != nil {
			t.Fatal(err)
		}
	}
	for i := range 3 {
		payload, _ := json.Marshal(ingest.Item{ID: fmt.Sprint("later-", i), Body: article(i)})
		if _, err := fixture.Submit(ctx, m.js, bus.SubjectPublish, payload); err != nil {
			t.Fatal(err)
		}
	}
	events, err := r.Index.Events(ctx, 0, 100)
	testbed.OK(t, err)
	verdicts, err := m.js.OrderedConsumer(ctx, bus.StreamVerdicts, jetstream.OrderedConsumerConfig{})
	testbed.OK(t, err)
	for _, e := range events {
		want, err := json.Marshal(e)
		testbed.OK(t, err)
		if msg, err := verdicts.Next(jetstream.FetchMaxWait(patience)); err != nil || string(msg.Data()) != string(want) {
			t.Fatalf("event %d: %v %s, want %s", e.Number, err, msg.Data(), want)
		}
	}
	r.noDeadLetters() // of a withdrawal that no client has published
}

// The purpose of each role works end to end.
func TestBusRolesAtWork(t *testing.T) {
	t.Parallel()
	known := testTokens(t)
	r := newService(t, testConfig{bus: func(c *bus.Config) { c.Listen, c.Authenticate = "127.0.0.1:0", known.BusUser }})
	shop, desk := join(t, r.Bus.URL(), platformToken), join(t, r.Bus.URL(), editorToken)
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	js, err := jetstream.New(shop.conn)
	testbed.OK(t, err)
	for i := range 3 {
		payload, _ := json.Marshal(ingest.Item{ID: fmt.Sprint(i), Body: article(i)})
		if o, err := fixture.Submit(ctx, js, bus.SubjectPublish, payload); err != nil || o.Event.Verdict != index.Unique {
			t.Fatalf("%+v, %v", o, err)
		}
	}
	if reply, err := shop.conn.RequestWithContext(ctx, bus.SubjectCheck, []byte(`{"body":"`+article(1)+`"}`)); err != nil || !strings.Contains(string(reply.Data), `"duplicate"`) {
		t.Errorf("check: %s, %v", reply.Data, err)
	}
	for name, m := range map[string]*member{"platform": shop, "editor": desk} {
		ordered, err := m.js.OrderedConsumer(ctx, bus.StreamVerdicts, jetstream.OrderedConsumerConfig{})
		if err != nil {
			t.Fatal(name, err)
		}
		durable, err := m.js.CreateOrUpdateConsumer(ctx, bus.StreamVerdicts, jetstream.ConsumerConfig{Durable: name, AckPolicy: jetstream.AckExplicitPolicy})
		if err != nil {
			t.Fatal(name, err)
		}
		for i := range 3 {
			for kind, consumer := range map[string]jetstream.Consumer{"ordered": ordered, "durable": durable} {
				msg, err := consumer.Next(jetstream.FetchMaxWait(patience))
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
	t.Parallel()
	known := testTokens(t)
	embedded, err := bus.Start(bus.Config{Dir: t.TempDir(), Listen: "127.0.0.1:0", Relaxed: true, Authenticate: known.BusUser})
	testbed.OK(t, err)
	defer embedded.Close()
	bare := strings.TrimPrefix(embedded.URL(), "nats://")
	for _, url := range []string{embedded.URL(), "nats://jg_wrong_token-0000@" + bare, "nats://shop:jg_wrong_token-0000@" + bare, "nats://" + platformToken + "x@" + bare, "nats://shop@" + bare} {
		nc, err := bus.Connect(url)
		if !errors.Is(err, bus.ErrRefused) {
			t.Errorf("%s: %v", url, err)
		}
		if err == nil {
			nc.Close()
		} else if strings.Contains(err.Error(), "token-0000") || strings.Contains(err.Error(), platformToken) {
			t.Errorf("the error tells the secret: %v", err)
		}
	}
	for _, url := range []string{"nats://" + platformToken + "@" + bare, "nats://shop:" + platformToken + "@" + bare, "nats://" + embedded.Secret() + "@" + bare} {
		nc, err := bus.Connect(url)
		testbed.OK(t, err)
		nc.Close()
	}
}

// TestInboxPrefix: a client with a prefix of its own reads its replies with tokens and, unchanged, without.
func TestInboxPrefix(t *testing.T) {
	t.Parallel()
	for name, known := range map[string]*tokens.Set{"tokens": testTokens(t), "no tokens": nil} {
		r := newService(t, testConfig{bus: func(c *bus.Config) { c.Listen, c.Authenticate = "127.0.0.1:0", known.BusUser }})
		nc, err := nats.Connect(r.Bus.URL(), nats.Token(platformToken), nats.CustomInboxPrefix("_INBOX.shop"))
		if err != nil {
			t.Fatal(name, err)
		}
		defer nc.Close()
		var reply *nats.Msg
		err = nats.ErrNoResponders // until the service has subscribed
		for end := time.Now().Add(patience); errors.Is(err, nats.ErrNoResponders) && time.Now().Before(end); {
			reply, err = nc.Request(bus.SubjectCheck, []byte(`{"body":"台风登陆。"}`), patience)
		}
		if err != nil || !strings.Contains(string(reply.Data), `"unique"`) {
			t.Errorf("%s: %v %v", name, reply, err)
		}
	}
}
