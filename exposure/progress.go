package exposure

import (
	"context"
	"sync/atomic"
	"time"

	"jianguo/exposure/eventlog"
	"jianguo/internal/wait"
)

// progress is how far the log has been applied and flushed.
type progress struct {
	applied   eventlog.Applied
	max       int64         // unflushed keys at most
	flushed   atomic.Uint64 // last sequence in the file
	unflushed atomic.Int64  // keys of the events between the two
	oldest    atomic.Int64  // unix nanoseconds when the oldest of them was applied, 0 for none

	kick chan struct{} // asks for a flush
}

func newProgress(max int) *progress { return &progress{max: int64(max), kick: make(chan struct{}, 1)} }

// reset begins at a sequence that is in the file.
func (p *progress) reset(seq uint64) {
	p.applied.Reset(seq)
	p.flushed.Store(seq)
	p.unflushed.Store(0)
	p.oldest.Store(0)
}

// advance makes an event count as applied, and wakes the requests that wait for it with its
// outcome.
func (p *progress) advance(seq uint64, keys int, outcome error) {
	var refused map[uint64]error
	if outcome != nil {
		refused = map[uint64]error{seq: outcome}
	}
	p.applied.Advance(seq, refused)
	p.oldest.CompareAndSwap(0, time.Now().UnixNano())
	if n := p.unflushed.Add(int64(max(keys, 1))); n >= p.max/2 {
		select {
		case p.kick <- struct{}{}:
		default:
		}
	}
}

// waitRoom blocks the consumer while too much is unflushed. A flush takes far longer than the time
// between two looks.
func (p *progress) waitRoom(ctx context.Context) error {
	for p.unflushed.Load() >= p.max && wait.For(ctx, time.Millisecond) == nil {
	}
	return ctx.Err()
}
