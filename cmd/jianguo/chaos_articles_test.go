//go:build linux && amd64

package main

import (
	"context"
	"encoding/json"
	"fmt"
	"hash/maphash"
	"maps"
	"math/rand/v2"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"jianguo/bus"
	"jianguo/index"
	"jianguo/ingest"
	"jianguo/internal/testbed"
)

// modelItem is an article as its only client knows it.
type modelItem struct {
	id, body string
	cluster  uint32         // where it was answered
	revision int64          // of the last one that was sent
	may      map[state]bool // under chaos.mu; what it may be; after an answer exactly that
	checked  bool           // it was compared since it was last changed
	retired  bool           // it changes no more: an answer was lost, or it has ended
}

// state is what an article is: its verdict and its text. The zero state: it is unknown.
type state struct{ verdict, body string }

// stateOf is the state under a verdict. The text of what was withdrawn says nothing.
func stateOf(verdict, body string) state {
	if verdict == "withdrawn" {
		body = ""
	}
	return state{verdict, body}
}

// outlet is a way to publish. An answer without a verdict has the verdict "".
type outlet interface {
	publish(ctx context.Context, a *modelItem) (*index.Event, error)
	withdraw(ctx context.Context, id, mode string) error
}

// number is one that was never drawn before.
func (c *chaos) number() uint64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.dice.Uint64()
}

// text is one that resembles no other.
func (c *chaos) text() string {
	r := rand.New(rand.NewPCG(c.number(), 3))
	var b strings.Builder
	for range 8 {
		for range 8 + r.IntN(20) {
			b.WriteRune(rune(0x4e00 + r.IntN(20000)))
		}
		b.WriteString("。")
	}
	return b.String()
}

// write publishes, revises, copies, withdraws and decides until the context ends.
func (c *chaos) write(ctx context.Context, to outlet, http *http.Client) {
	var leads []*modelItem // nothing but copying happened to them
	for n := 0; ctx.Err() == nil; n++ {
		pick := 0
		if len(leads) > 0 {
			pick = rand.IntN(len(leads))
		}
		switch what := rand.IntN(20); {
		case what < 9 || len(leads) == 0:
			if a := c.add(c.text()); c.change(a, "unique", a.body, func() error { return c.sent(ctx, to, a) }) {
				leads = append(leads, a)
			}
		case what < 16:
			a := c.add(leads[pick].body)
			if c.change(a, "duplicate", a.body, func() error { return c.sent(ctx, to, a) }) {
				if c.afterwards(ctx, a, to, http) { // the lead and its copy now differ
					leads = slices.Delete(leads, pick, pick+1)
				}
			}
		case what < 18:
			a := leads[pick]
			a.revision++
			a.body += strings.SplitAfter(c.text(), "。")[0] // a correction: copies stay copies
			if !c.change(a, "unique", a.body, func() error { return c.sent(ctx, to, a) }) {
				leads = slices.Delete(leads, pick, pick+1)
			}
		default:
			a := leads[pick]
			leads = slices.Delete(leads, pick, pick+1)
			c.change(a, "withdrawn", "", func() error { return to.withdraw(ctx, a.id, "block") })
		}
		sleep(ctx, c.pace)
	}
}

// afterwards withdraws a copy, or releases it and takes that back. It reports whether the
// copy may have become an article of its own.
func (c *chaos) afterwards(ctx context.Context, a *modelItem, to outlet, client *http.Client) (released bool) {
	switch {
	case rand.IntN(4) == 0:
		c.change(a, "withdrawn", "", func() error { return to.withdraw(ctx, a.id, []string{"block", "promote"}[rand.IntN(2)]) })
	case client != nil && a.cluster != 0 && rand.IntN(2) == 0:
		var d struct{ Decision uint64 }
		decide := func(body string) func() error {
			return func() error {
				answer, err := c.call(ctx, client, http.MethodPost, fmt.Sprintf("/clusters/%d/decisions", a.cluster), []byte(body), http.StatusOK)
				if err == nil {
					err = json.Unmarshal(answer, &d)
				}
				if err == nil {
					c.count(func(n *counts) { n.decisions++ })
				}
				return err
			}
		}
		if c.change(a, "unique", a.body, decide(fmt.Sprintf(`{"kind":"release","item":%q,"by":"张三"}`, a.id))) && rand.IntN(2) == 0 {
			c.change(a, "duplicate", a.body, decide(fmt.Sprintf(`{"kind":"undo","decision":%d,"by":"张三"}`, d.Decision)))
		}
		return true
	}
	return false
}

// add adds an article that no client has sent yet.
func (c *chaos) add(body string) *modelItem {
	a := &modelItem{id: fmt.Sprintf("a-%d", c.number()), body: body, may: map[state]bool{{}: true}}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.articles = append(c.articles, a)
	return a
}

// change sends a change of an article. Without an answer the article may be as before or
// as after it, and is changed no more.
func (c *chaos) change(a *modelItem, verdict, body string, send func() error) (answered bool) {
	if a.retired {
		return false
	}
	after := stateOf(verdict, body)
	c.mu.Lock()
	a.may[after], a.checked = true, false
	c.mu.Unlock()
	err := send()
	c.count(func(n *counts) {
		if err != nil {
			a.retired = true
			n.unanswered++
			return
		}
		a.may = map[state]bool{after: true}
		if verdict == "unique" || verdict == "duplicate" {
			n.items++
		} else {
			n.changes++
		}
	})
	return err == nil
}

// sent publishes an article and checks the verdict, where one is answered.
func (c *chaos) sent(ctx context.Context, to outlet, a *modelItem) error {
	e, err := to.publish(ctx, a)
	if err == nil && e != nil {
		a.cluster = e.Cluster
	}
	return err
}

// call sends a request over HTTP. Any answer of another status is an error.
func (c *chaos) call(ctx context.Context, client *http.Client, method, path string, body []byte, want ...int) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, requestTime)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, method, c.address.HTTP+path, strings.NewReader(string(body)))
	if err != nil {
		return nil, err
	}
	status, answer, err := answered(client.Do(req))
	if err == nil && !slices.Contains(want, status) {
		err = fmt.Errorf("%s %s: %d %s", method, path, status, answer)
	}
	return answer, err
}

// overHTTP publishes over HTTP.
type overHTTP struct {
	c      *chaos
	client *http.Client
}

func (c *chaos) overHTTP(client *http.Client) overHTTP { return overHTTP{c, client} }

func (o overHTTP) publish(ctx context.Context, a *modelItem) (*index.Event, error) {
	b, err := json.Marshal(ingest.Item{ID: a.id, Body: a.body, Revision: a.revision})
	if err != nil {
		return nil, err
	}
	answer, err := o.c.call(ctx, o.client, http.MethodPost, "/items", b, http.StatusOK, http.StatusAccepted)
	var outcome ingest.Outcome
	if err == nil {
		err = json.Unmarshal(answer, &outcome)
	}
	return outcome.Event, err
}

func (o overHTTP) withdraw(ctx context.Context, id, mode string) error {
	_, err := o.c.call(ctx, o.client, http.MethodDelete, "/items/"+id+"?mode="+mode, nil, http.StatusOK, http.StatusAccepted)
	return err
}

// overBus publishes into the stream.
type overBus struct{ js jetstream.JetStream }

func (o overBus) send(ctx context.Context, subject string, payload any) error {
	b, err := json.Marshal(payload)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, requestTime)
	defer cancel()
	_, err = o.js.Publish(ctx, subject, b)
	return err
}

func (o overBus) publish(ctx context.Context, a *modelItem) (*index.Event, error) {
	return nil, o.send(ctx, bus.SubjectPublish, ingest.Item{ID: a.id, Body: a.body, Revision: a.revision})
}

func (o overBus) withdraw(ctx context.Context, id, mode string) error {
	return o.send(ctx, bus.SubjectWithdraw, ingest.Withdrawal{ID: id, Mode: mode})
}

// watch reads every event from the first on, as long as the connection stands.
func (c *chaos) watch(ctx context.Context, conn *nats.Conn) {
	js, err := jetstream.New(conn)
	if err != nil {
		c.problem("%v", err)
		return
	}
	for ; ctx.Err() == nil && conn.IsConnected(); sleep(ctx, 20) {
		consumer, err := js.OrderedConsumer(ctx, bus.StreamVerdicts, jetstream.OrderedConsumerConfig{DeliverPolicy: jetstream.DeliverAllPolicy})
		if err != nil {
			continue // the bus has no stream yet, or the stream is being opened again
		}
		consuming, err := consumer.Consume(func(m jetstream.Msg) {
			var e index.Event
			if err := json.Unmarshal(m.Data(), &e); err != nil {
				c.problem("an event is %s: %v", m.Data(), err)
				return
			}
			c.saw(e.Number, m.Data())
		}, jetstream.PullHeartbeat(time.Second))
		if err != nil {
			continue
		}
		select {
		case <-ctx.Done():
			consuming.Stop()
			<-consuming.Closed()
		case <-consuming.Closed():
		}
	}
}

var hashSeed = maphash.MakeSeed()

// saw records an event, which must be the same each time it is seen.
func (c *chaos) saw(number uint64, data []byte) {
	sum := maphash.Bytes(hashSeed, data)
	c.mu.Lock()
	before, known := c.events[number]
	c.events[number] = sum
	c.mu.Unlock()
	if known && before != sum {
		c.problem("event %d is another one now: %s", number, data)
	}
}

// checkArticles compares the articles that were changed since they were last compared,
// and some others.
func (c *chaos) checkArticles() {
	for _, a := range c.articles {
		if a.checked && rand.IntN(20) > 0 {
			continue
		}
		status, answer, err := c.get("/items/" + a.id)
		var it struct {
			Body  string
			Event struct{ Verdict string }
		}
		if err == nil && status == http.StatusOK {
			err = json.Unmarshal(answer, &it)
		}
		if err != nil || status != http.StatusOK && status != http.StatusNotFound {
			c.problem("item %s: %d %s %v", a.id, status, answer, err)
			continue
		}
		is := stateOf(it.Event.Verdict, it.Body)
		if !a.may[is] {
			c.problem("item %s is %+v, acknowledged was %v\n%s", a.id, is, slices.Collect(maps.Keys(a.may)), answer)
		}
		a.may, a.checked = map[state]bool{is: true}, true
	}
}

// endOfLife checks that the catalogue holds every event that clients saw, gapless.
func (c *chaos) endOfLife() {
	c.t.Helper()
	ctx := context.Background()
	x, err := index.Open(ctx, index.Config{Dir: c.data})
	testbed.OK(c.t, err)
	defer x.Close()
	events, err := x.Events(ctx, 0, 1<<30)
	testbed.OK(c.t, err)
	for i, e := range events {
		data, err := json.Marshal(e)
		testbed.OK(c.t, err)
		if e.Number != uint64(i+1) {
			c.problem("event %d is number %d", i+1, e.Number)
		}
		c.saw(e.Number, data)
	}
	if len(c.events) > len(events) {
		c.problem("%d events were seen, %d are in the catalogue", len(c.events), len(events))
	}
}
