package size

import (
	"context"
	"fmt"
	"log/slog"
	"path/filepath"
	"testing"
	"time"

	"jianguo/exposure"
	"jianguo/exposure/eventlog"
	_ "jianguo/internal/memdir"
)

// memoryLog holds nothing: its one reader is never behind.
type memoryLog struct {
	last uint64
	feed chan func(eventlog.Entry) error // of the reader
	read func(eventlog.Entry) error
}

func (l *memoryLog) Append(_ context.Context, subject string, data []byte) (uint64, error) {
	if l.read == nil {
		l.read = <-l.feed
	}
	l.last++
	return l.last, l.read(eventlog.Entry{Seq: l.last, Subject: subject, Data: data, Time: time.Now()})
}

func (l *memoryLog) State(context.Context) (eventlog.State, error) {
	return eventlog.State{ID: "memory", First: 1}, nil
}

func (l *memoryLog) Consume(ctx context.Context, _ uint64, f func(eventlog.Entry) error) error {
	l.feed <- f
	<-ctx.Done()
	return nil
}

func (l *memoryLog) Synced(context.Context, uint64) error  { return nil }
func (l *memoryLog) Release(context.Context, uint64) error { return nil }

// TestSizesAreWhatIsStored compares the formula with the users of a store.
func TestSizesAreWhatIsStored(t *testing.T) {
	ctx := t.Context()
	for number, p := range []exposure.Policy{{}, {Slots: 3, Large: 10000}, {Slots: 4, Capacity: 100, Tail: 40}} {
		s, err := exposure.Open(ctx, exposure.Config{Path: filepath.Join(t.TempDir(), "exposure.db"), Log: &memoryLog{feed: make(chan func(eventlog.Entry) error, 1)},
			Policies: map[string]exposure.Policy{"": p}, SweepRate: -1, Logger: slog.New(slog.DiscardHandler)})
		if err != nil {
			t.Fatal(err)
		}
		for _, n := range []int{0, 1, 30, 40, 41, 50, 500, 512, 513, 514, 641, 642, 643, 5000, 20000} {
			ev := exposure.Event{Kind: exposure.Seen, User: fmt.Sprint(n)}
			for i := range n {
				ev.Items = append(ev.Items, fmt.Sprintf("item-%09d", i))
			}
			if n > 0 {
				if err := s.Expose(ctx, ev); err != nil {
					t.Fatal(err)
				}
			}
			info, err := s.Query(ctx, ev.User, "", nil)
			if err != nil {
				t.Fatal(err)
			}
			sizes, err := Sizes(p, n)
			if err != nil {
				t.Fatal(err)
			}
			z := sizes[0]
			// Keys that a shard holds already by chance move a count by one or two. Row numbers are short here.
			few := 4 + 5*len(info.Shards)
			if n == 0 {
				few = z.Bytes // nothing is stored
			}
			if z.Tail != info.Tail || z.Small+z.Large != len(info.Shards) || z.Bytes-info.Bytes > few || info.Bytes-z.Bytes > 4 {
				t.Errorf("policy %d, %d keys: derived %+v, stored %+v", number, n, z, info)
			}
			known := info.Tail
			for _, sh := range info.Shards {
				known += sh.Keys
			}
			if p, _ := exposure.ParsePolicy(p.String()); n <= p.Remembered() && known < n-4 || z.Remembered-known > 4 || known-z.Remembered > 4 {
				t.Errorf("policy %d: of %d keys %d are known, derived %d; %d in a row are remembered", number, n, known, z.Remembered, p.Remembered())
			}
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
	}
}
