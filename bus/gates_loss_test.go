package bus

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"jianguo/internal/testbed"
)

// Where the stream has stored messages and the gate dies before it says so,
// publishers hear nothing, publish again under the same id, and each message
// stands once and in order. The bus is closed and opened under way.
func TestGateLostAcks(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	var lost atomic.Int64
	var mu sync.Mutex
	r := rand.New(rand.NewPCG(5, 6))
	fail := func(point string) error {
		mu.Lock()
		defer mu.Unlock()
		if point == "stored" && r.IntN(3) == 0 {
			lost.Add(1)
			return errors.New("lost")
		}
		return nil
	}
	const publishers, each = 6, 60
	next := make([]int, publishers) // of each publisher, the first that it has no acknowledgement of
	acked := map[uint64]string{}
	var before uint64
	for round := 0; ; round++ {
		g := newGated(t, dir, jetstream.StreamConfig{Duplicates: time.Hour}, fail)
		ctx, cancel := context.WithTimeout(t.Context(), time.Duration(300+100*round)*time.Millisecond)
		var wg sync.WaitGroup
		for p := range publishers {
			_, js := g.join()
			wg.Go(func() {
				for next[p] < each && ctx.Err() == nil {
					// A few at once: what has no acknowledgement is sent again, and
					// what comes behind it with it.
					var futures []jetstream.PubAckFuture
					for i := next[p]; i < min(next[p]+8, each); i++ {
						f, err := js.PublishAsync("s.a", []byte(fmt.Sprintf("%d %d", p, i)), jetstream.WithMsgID(fmt.Sprintf("%d-%d", p, i)))
						if err != nil {
							t.Error(err)
							return
						}
						futures = append(futures, f)
					}
					patience := time.After(100 * time.Millisecond)
					for _, f := range futures {
						select {
						case ack := <-f.Ok():
							mu.Lock()
							acked[ack.Sequence] = string(f.Msg().Data)
							mu.Unlock()
							next[p]++
							continue
						case <-f.Err():
						case <-patience:
						}
						break
					}
				}
			})
		}
		wg.Wait()
		cancel()
		done := 0
		for _, n := range next {
			done += n
		}
		if done == publishers*each {
			stored, at := g.stored(), map[string]uint64{}
			for seq, m := range stored {
				if at[string(m.Data)] != 0 {
					t.Errorf("%q stands twice", m.Data)
				}
				at[string(m.Data)] = seq
			}
			for seq, data := range acked {
				if at[data] != seq {
					t.Errorf("%q was acknowledged as %d and stands at %d", data, seq, at[data])
				}
			}
			for p := range publishers {
				before = 0
				for i := range each {
					seq := at[fmt.Sprintf("%d %d", p, i)]
					if seq <= before {
						t.Errorf("publisher %d: message %d stands at %d, the one before at %d", p, i, seq, before)
					}
					before = seq
				}
			}
			t.Logf("%d rounds, %d answers lost", round+1, lost.Load())
			if lost.Load() == 0 {
				t.Error("nothing was lost")
			}
			return
		}
		if round == 60 {
			t.Fatalf("%d of %d after %d rounds", done, publishers*each, round)
		}
		g.bus.Close()
	}
}

// While the bus closes, acknowledged messages are stored, and no publisher waits long.
func TestGateClose(t *testing.T) {
	dir := t.TempDir()
	g := newGated(t, dir, jetstream.StreamConfig{}, nil)
	_, js := g.join()
	var futures []jetstream.PubAckFuture
	for i := range 3000 {
		f, err := js.PublishAsync("s.a", []byte(strconv.Itoa(i)))
		testbed.OK(t, err)
		futures = append(futures, f)
	}
	<-futures[0].Ok()
	g.bus.Close()
	acked := map[string]bool{}
	for i, f := range futures {
		select {
		case <-f.Ok():
			acked[strconv.Itoa(i)] = true
		default:
		}
	}
	g = newGated(t, dir, jetstream.StreamConfig{}, nil)
	stored := map[string]bool{}
	for _, m := range g.stored() {
		stored[string(m.Data)] = true
	}
	for data := range acked {
		if !stored[data] {
			t.Errorf("%s was acknowledged and is lost", data)
		}
	}
	t.Logf("%d acknowledged, %d stored", len(acked), len(stored))
}
