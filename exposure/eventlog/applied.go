package eventlog

import (
	"context"
	"fmt"
	"maps"
	"sync"
	"sync/atomic"
	"time"
)

// Applied is how far a log, or a partition of it, has been applied, for the requests that wait for their entries.
// The zero value is ready. All methods may be called from any goroutine.
type Applied struct {
	seq     atomic.Uint64 // written under mu
	mu      sync.Mutex
	waiting map[uint64][]chan struct{} // mu; by sequence
	refused map[uint64]error           // mu; why recent entries were not applied
}

// maxRefused bounds the outcomes that no request waits for: those of events published directly.
const maxRefused = 4096

// lookEvery is how often a request that waits looks for itself.
const lookEvery = 250 * time.Millisecond

// Seq is the last sequence applied.
func (a *Applied) Seq() uint64 { return a.seq.Load() }

// Reset begins again at a sequence. What was refused will be refused again.
func (a *Applied) Reset(seq uint64) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.seq.Store(seq)
	clear(a.refused)
}

// Advance makes the entries up to a sequence count as applied, apart from those that were refused, and wakes the
// requests that wait for them.
func (a *Applied) Advance(seq uint64, refused map[uint64]error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.refused == nil {
		a.refused = map[uint64]error{}
	}
	if len(a.refused) > maxRefused {
		maps.DeleteFunc(a.refused, func(s uint64, _ error) bool { return s+maxRefused/2 < seq })
	}
	maps.Copy(a.refused, refused)
	last := a.seq.Load()
	if seq <= last {
		return
	}
	a.seq.Store(seq)
	if seq == last+1 {
		a.wake(seq)
		return
	}
	for s := range a.waiting {
		if s <= seq {
			a.wake(s)
		}
	}
}

func (a *Applied) wake(seq uint64) {
	for _, ch := range a.waiting[seq] {
		close(ch)
	}
	delete(a.waiting, seq)
}

// WakeAll has all requests that wait look for themselves.
func (a *Applied) WakeAll() {
	a.mu.Lock()
	defer a.mu.Unlock()
	for seq := range a.waiting {
		a.wake(seq)
	}
}

// wait returns a channel that is closed when an entry has been applied, or nil if it has been.
func (a *Applied) wait(seq uint64) chan struct{} {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.seq.Load() >= seq {
		return nil
	}
	if a.waiting == nil {
		a.waiting = map[uint64][]chan struct{}{}
	}
	ch := make(chan struct{})
	a.waiting[seq] = append(a.waiting[seq], ch)
	return ch
}

// Wait waits until an entry has been applied, and returns why it was refused. Now and then, and when it is woken, it
// calls look, whose error ends it.
func (a *Applied) Wait(ctx context.Context, seq uint64, look func() error) error {
	err := a.await(ctx, seq, look)
	a.mu.Lock()
	defer a.mu.Unlock()
	if err != nil {
		a.wake(seq) // the sequence may never come; another request for it looks for itself
		return err
	}
	refused := a.refused[seq]
	delete(a.refused, seq)
	return refused
}

func (a *Applied) await(ctx context.Context, seq uint64, look func() error) error {
	tick := time.NewTicker(lookEvery)
	defer tick.Stop()
	for applied := a.wait(seq); applied != nil; {
		select {
		case <-applied: // or all were woken
			applied = a.wait(seq)
		case <-tick.C:
		case <-ctx.Done():
			return fmt.Errorf("exposure: event %d is logged but not yet applied: %w", seq, ctx.Err())
		}
		if applied == nil {
			break
		}
		if err := look(); err != nil {
			return fmt.Errorf("exposure: event %d is logged but not applied: %w", seq, err)
		}
	}
	return nil
}
