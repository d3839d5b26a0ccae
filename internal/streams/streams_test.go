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

// TestFullOfMessages: a stream with a bound of messages that was set on the bus is full when it holds so many.
func TestFullOfMessages(t *testing.T) {
	ns := must.Get(server.NewServer(&server.Options{DontListen: true, JetStream: true, StoreDir: t.TempDir(), NoSigs: true, NoLog: true}))
	ns.Start()
	defer ns.WaitForShutdown()
	defer ns.Shutdown()
	if !ns.ReadyForConnections(time.Minute) {
		t.Fatal("the server did not start")
	}
	nc := must.Get(nats.Connect("", nats.InProcessServer(ns)))
	defer nc.Close()
	js, ctx := must.Get(jetstream.New(nc)), t.Context()
	s := must.Get(js.CreateStream(ctx, jetstream.StreamConfig{Name: "ITEMS", Subjects: []string{"items"}, Discard: jetstream.DiscardNew, MaxMsgs: 2}))
	for n := range 2 {
		must.Get(js.Publish(ctx, "items", nil))
		_, err := Check(ctx, s, js, "items", 1)
		if full := err != nil && strings.Contains(err.Error(), "it holds 2 of 2 messages: remove max_msgs"); full != (n == 1) {
			t.Errorf("with %d of 2: %v", n+1, err)
		}
	}
}
