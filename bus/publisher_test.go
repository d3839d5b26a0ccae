package bus

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// TestPublisherBatches: messages that wait are stored together and in order, and
// each gets its own answer.
func TestPublisherBatches(t *testing.T) {
	for name, room := range map[string]int64{"room for all": 0, "room for some": 256 << 10} {
		t.Run(name, func(t *testing.T) {
			b, err := Start(Config{Dir: t.TempDir(), Relaxed: true})
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(b.Close)
			conn, err := b.Connect()
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(conn.Close)
			js, err := jetstream.New(conn)
			if err != nil {
				t.Fatal(err)
			}
			stream, err := b.EnsureStreams(t.Context(), js, StreamsConfig{Bytes: room})
			if err != nil {
				t.Fatal(err)
			}
			p, err := NewPublisher(conn)
			if err != nil {
				t.Fatal(err)
			}
			p.flushing = true // nothing leaves before all are here
			const n = 3 * batchMessages / 2
			var stored []<-chan error
			for i := range n {
				msg := nats.NewMsg(SubjectPublish)
				msg.Data = fmt.Appendf(nil, "%d %s", i, strings.Repeat("x", 2000))
				stored = append(stored, p.PublishAsync(msg))
			}
			p.flush()
			var kept []int
			for i, s := range stored {
				var full *jetstream.APIError
				switch err := <-s; {
				case err == nil:
					kept = append(kept, i)
				case !errors.As(err, &full):
					t.Error(err)
				}
			}
			info, err := stream.Info(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			if got := info.State.Msgs; int(got) != len(kept) || (len(kept) < n) != (room > 0) || len(kept) == 0 {
				t.Fatalf("%d stored, %d of %d answered so", got, len(kept), n)
			}
			for seq, i := range kept {
				m, err := stream.GetMsg(t.Context(), uint64(seq+1))
				if err != nil {
					t.Fatal(err)
				}
				if !strings.HasPrefix(string(m.Data), fmt.Sprint(i, " ")) {
					t.Fatalf("message %d is %.8s, want %d", seq+1, m.Data, i)
				}
			}
			if p.flushing || p.pending != nil || p.single {
				t.Errorf("flushing %v, %d pending, single %v", p.flushing, len(p.pending), p.single)
			}
		})
	}
}
