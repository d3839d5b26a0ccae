package exposure

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"jianguo/exposure/eventlog"
	"jianguo/exposure/state"
)

// TestErasure: what is in the file leaves the log a day after it was logged, also where no
// whole file of the log can go. What is not in the file stays, however old it is.
func TestErasure(t *testing.T) {
	for name, purgeable := range map[string]func(uint64) uint64{"purge": nil, "one by one": func(uint64) uint64 { return 0 }} {
		t.Run(name, func(t *testing.T) {
			clk := newClock()
			clk.unix.Store(time.Now().Unix())
			f, js := natsFixture(t, eventlog.Config{Purgeable: purgeable, Clock: clk.now}, Config{FlushAge: time.Hour})
			ctx := context.Background()
			holds := func(first, messages uint64) {
				t.Helper()
				stream, err := js.Stream(ctx, eventlog.StreamName)
				f.must(err)
				if got := stream.CachedInfo().State; got.FirstSeq != first || got.Msgs != messages {
					t.Fatalf("the log begins at %d and holds %d, want %d and %d", got.FirstSeq, got.Msgs, first, messages)
				}
			}
			for i := range 30 {
				f.report(state.Seen, "u", fmt.Sprint("flushed", i))
			}
			f.must(f.Flush(ctx))
			for i := range 20 {
				f.report(state.Seen, "u", fmt.Sprint("not", i))
			}
			holds(1, 50)
			clk.advance(60 * time.Hour)
			f.w.release(ctx)
			holds(31, 20)
			f.crash()
			if got := f.unseenOf("u", "flushed0", "flushed29", "not0", "not19", "new"); !slices.Equal(got, []string{"new"}) {
				t.Fatalf("got %v", got)
			}
			f.must(f.Flush(ctx))
			holds(51, 0)
			f.report(state.Seen, "u", "more")
			f.crash()
			if got := f.unseenOf("u", "not19", "more", "new"); !slices.Equal(got, []string{"new"}) {
				t.Fatalf("got %v", got)
			}
		})
	}
}

// TestLogLostItsBegin: a store whose log has lost events that were not applied is ready
// again, and says how many they are.
func TestLogLostItsBegin(t *testing.T) {
	f, js := natsFixture(t, eventlog.Config{}, Config{FlushAge: time.Hour})
	ctx := context.Background()
	for i := range 30 {
		f.report(state.Seen, "u", fmt.Sprint("s", i))
	}
	f.fail(errors.New("killed"))
	f.Close()
	stream, err := js.Stream(ctx, eventlog.StreamName)
	f.must(err)
	f.must(stream.Purge(ctx, jetstream.WithPurgeSequence(31)))
	f.open()
	if lost := metric(t, f.Store, "jianguo_exposure_events_lost_total"); lost != 30 {
		t.Errorf("%v events lost", lost)
	}
	f.report(state.Seen, "u", "after")
	if got := f.unseenOf("u", "s0", "after"); !slices.Equal(got, []string{"s0"}) {
		t.Fatalf("got %v", got)
	}
}
