package streams

import (
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"jianguo/internal/must"
)

// testStream is a stream of a server in this process.
func testStream(t *testing.T, c jetstream.StreamConfig) (jetstream.JetStream, jetstream.Stream) {
	_, js, s := testServer(t, c)
	return js, s
}

func testServer(t *testing.T, c jetstream.StreamConfig) (*server.Server, jetstream.JetStream, jetstream.Stream) {
	ns := must.Get(server.NewServer(&server.Options{DontListen: true, JetStream: true, StoreDir: t.TempDir(), NoSigs: true, NoLog: true}))
	ns.Start()
	t.Cleanup(func() { ns.Shutdown(); ns.WaitForShutdown() })
	if !ns.ReadyForConnections(time.Minute) {
		t.Fatal("the server did not start")
	}
	nc := must.Get(nats.Connect("", nats.InProcessServer(ns)))
	t.Cleanup(nc.Close)
	js := must.Get(jetstream.New(nc))
	return ns, js, must.Get(js.CreateStream(t.Context(), c))
}

// TestFullOfMessages: a stream with a bound of messages that was set on the bus is full when it holds so many.
func TestFullOfMessages(t *testing.T) {
	js, s := testStream(t, jetstream.StreamConfig{Name: "ITEMS", Subjects: []string{"items"}, Discard: jetstream.DiscardNew, MaxMsgs: 2})
	for n := range 2 {
		must.Get(js.Publish(t.Context(), "items", nil))
		_, err := Check(t.Context(), s, js, "items", 1)
		if full := err != nil && strings.Contains(err.Error(), "it holds 2 of 2 messages: remove max_msgs"); full != (n == 1) {
			t.Errorf("with %d of 2: %v", n+1, err)
		}
	}
}

// TestLosesMessages: what somebody sets on the bus under a running service, by which acknowledged messages go before
// they are applied, shows until it is set back.
func TestLosesMessages(t *testing.T) {
	sound := jetstream.StreamConfig{Name: "ITEMS", Subjects: []string{"items"}, Discard: jetstream.DiscardNew, MaxBytes: 1 << 20}
	js, s := testStream(t, sound)
	for _, c := range []struct {
		change func(*jetstream.StreamConfig)
		want   string
	}{
		{func(c *jetstream.StreamConfig) { c.MaxAge = time.Hour }, "stream ITEMS: it forgets messages after 1h0m0s (max_age): change that on the bus"},
		{func(c *jetstream.StreamConfig) { c.Discard = jetstream.DiscardOld }, "stream ITEMS: it has the policy DiscardOld when it is full, not DiscardNew (discard): change that on the bus"},
		{func(c *jetstream.StreamConfig) { c.MaxMsgsPerSubject = 5 }, "stream ITEMS: it holds 5 messages of a subject at most (max_msgs_per_subject): change that on the bus"},
	} {
		changed := sound
		c.change(&changed)
		must.Get(js.UpdateStream(t.Context(), changed))
		if _, err := Check(t.Context(), s, js, "items", 1); err == nil || err.Error() != c.want {
			t.Errorf("%v, want %s", err, c.want)
		}
		must.Get(js.UpdateStream(t.Context(), sound))
		if _, err := Check(t.Context(), s, js, "items", 1); err != nil {
			t.Errorf("after it was set back: %v", err)
		}
	}
}

// TestConsumerUnderAnotherName: a lost consumer comes back under another name when the bus answers no request for the next
// one, as a cluster does that has placed it on a server that is gone.
func TestConsumerUnderAnotherName(t *testing.T) {
	ns, js, s := testServer(t, jetstream.StreamConfig{Name: "ITEMS", Subjects: []string{"items"}})
	consumer := must.Get(s.OrderedConsumer(t.Context(), Ordered(1)))
	received := make(chan jetstream.Msg, 1)
	running := must.Get(consumer.Consume(func(m jetstream.Msg) { received <- m }, jetstream.PullHeartbeat(Heartbeat)))
	defer running.Stop()
	name := must.Get(consumer.Info(t.Context())).Name
	next := "$JS.API.CONSUMER.CREATE.ITEMS." + strings.TrimSuffix(name, "1") + "2"
	must.Do(ns.GlobalAccount().AddMapping(next, "nowhere"))
	must.Do(s.DeleteConsumer(t.Context(), name))
	must.Get(js.Publish(t.Context(), "items", nil))
	select {
	case <-received:
	case <-time.After(time.Minute):
		t.Error("it has received nothing")
	}
}

// TestPointOf: the time of another entry, as one that an earlier program has left beside a later sequence, is not taken.
func TestPointOf(t *testing.T) {
	for text, want := range map[string]Point{(Point{7, 70}).String(): {7, 70}, "6 60": {Seq: 7}, "7": {Seq: 7}, "": {Seq: 7}} {
		if got := PointOf(7, text); got != want {
			t.Errorf("%q: %v", text, got)
		}
	}
}
