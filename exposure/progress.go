package exposure

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"jianguo/internal/wait"
)

// progress is how far the log has been applied and flushed, and what waits for it.
type progress struct {
	max       int64         // unflushed keys at most
	applied   atomic.Uint64 // last sequence applied
	flushed   atomic.Uint64 // last sequence in the file
	unflushed atomic.Int64  // keys of the events between the two
	oldest    atomic.Int64  // unix nanoseconds when the oldest of them was applied, 0 for none

	kick chan struct{} // asks for a flush

	waitMu  sync.Mutex
	waiters map[uint64][]chan struct{} // waitMu; by sequence
	refused map[uint64]error           // waitMu; outcome of recent events that were refused
}

func newProgress(max int) *progress {
	return &progress{max: int64(max), kick: make(chan struct{}, 1), waiters: map[uint64][]chan struct{}{}, refused: map[uint64]error{}}
}

// reset begins at a sequence that is in the file.
func (p *progress) reset(seq uint64) {
	p.applied.Store(seq)
	p.flushed.Store(seq)
	p.unflushed.Store(0)
	p.oldest.Store(0)
	p.waitMu.Lock()
	clear(p.refused) // they will be refused again
	p.waitMu.Unlock()
}

// advance makes an event count as applied, and wakes the requests that wait for it with its
// outcome.
func (p *progress) advance(seq uint64, keys int, outcome error) {
	p.waitMu.Lock()
	if outcome != nil {
		if len(p.refused) >= 4096 { // of events published directly, for which no request waits
			clear(p.refused)
		}
		p.refused[seq] = outcome
	}
	p.applied.Store(seq)
	for _, ch := range p.waiters[seq] {
		close(ch)
	}
	delete(p.waiters, seq)
	p.waitMu.Unlock()
	p.oldest.CompareAndSwap(0, time.Now().UnixNano())
	if n := p.unflushed.Add(int64(max(keys, 1))); n >= p.max/2 {
		select {
		case p.kick <- struct{}{}:
		default:
		}
	}
}

// wakeAll wakes all that waits, because the store has failed.
func (p *progress) wakeAll() {
	p.waitMu.Lock()
	for seq, chs := range p.waiters {
		for _, ch := range chs {
			close(ch)
		}
		delete(p.waiters, seq)
	}
	p.waitMu.Unlock()
}

// waitApplied waits until an entry has been applied and returns its outcome, or until the
// store has failed.
func (p *progress) waitApplied(ctx context.Context, seq uint64, failed func() error) error {
	for {
		p.waitMu.Lock()
		if p.applied.Load() >= seq {
			outcome := p.refused[seq]
			delete(p.refused, seq)
			p.waitMu.Unlock()
			return outcome
		}
		if err := failed(); err != nil {
			p.waitMu.Unlock()
			return fmt.Errorf("exposure: event %d is logged but not applied: %w", seq, err)
		}
		ch := make(chan struct{})
		p.waiters[seq] = append(p.waiters[seq], ch)
		p.waitMu.Unlock()
		select {
		case <-ch: // applied, or the store has failed
		case <-ctx.Done():
			return fmt.Errorf("exposure: event %d is logged but not yet applied: %w", seq, ctx.Err())
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
