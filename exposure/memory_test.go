package exposure

import (
	"context"
	"sync"
	"time"

	"jianguo/exposure/eventlog"
	"jianguo/internal/streams"
)

// MemoryLog is an eventlog.Log in memory. It outlives the stores opened on it, as a stream would.
type MemoryLog struct {
	// Max bounds the entries held (0: no bound).
	Max int
	// Clock stamps entries (nil: time.Now).
	Clock func() time.Time

	mu      sync.Mutex
	entries []eventlog.Entry // mu
	first   uint64           // mu; sequence of entries[0], less one
	grown   chan struct{}    // mu; closed and replaced on append
}

// NewMemoryLog returns an empty log.
func NewMemoryLog() *MemoryLog { return &MemoryLog{grown: make(chan struct{})} }

func (l *MemoryLog) Append(_ context.Context, subject string, data []byte) (uint64, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.Max > 0 && len(l.entries) >= l.Max {
		return 0, ErrFull
	}
	now := time.Now
	if l.Clock != nil {
		now = l.Clock
	}
	seq := l.first + uint64(len(l.entries)) + 1
	l.entries = append(l.entries, eventlog.Entry{Seq: seq, Subject: subject, Data: append([]byte(nil), data...), Time: now()})
	close(l.grown)
	l.grown = make(chan struct{})
	return seq, nil
}

func (l *MemoryLog) State(context.Context) (eventlog.State, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	last := l.first + uint64(len(l.entries))
	return eventlog.State{ID: "memory", First: l.first + 1, Last: last}, nil
}

// Synced has nothing to wait for.
func (l *MemoryLog) Synced(context.Context, uint64) error { return nil }

func (l *MemoryLog) Behind(ctx context.Context, at streams.Point) (uint64, error) {
	st, err := l.State(ctx)
	return min(at.Seq, st.Last), err
}

func (l *MemoryLog) Consume(ctx context.Context, begin streams.Point, fn func(eventlog.Entry) error) error {
	for after := begin.Seq; ; {
		l.mu.Lock()
		after = max(after, l.first)
		var batch []eventlog.Entry
		if i := int(after - l.first); i < len(l.entries) {
			batch = l.entries[i:]
		}
		grown := l.grown
		l.mu.Unlock()
		for _, e := range batch {
			if ctx.Err() != nil {
				return nil
			}
			if err := fn(e); err != nil {
				return err
			}
			after = e.Seq
		}
		if len(batch) > 0 {
			continue
		}
		select {
		case <-ctx.Done():
			return nil
		case <-grown:
		}
	}
}

func (l *MemoryLog) Release(_ context.Context, upTo uint64) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.Max > 0 && len(l.entries) > l.Max/2 && upTo > l.first {
		n := min(int(upTo-l.first), len(l.entries))
		l.entries = append([]eventlog.Entry(nil), l.entries[n:]...)
		l.first += uint64(n)
	}
	return nil
}
