package index

import (
	"context"
	"fmt"
	"time"

	"jianguo/index/resident"
)

// Retention. Judging passes over exemplars whose time is over (alive), so that
// verdicts do not depend on when their postings are removed; the sweep removes
// them, to give memory back and make look-ups short. Only exemplars go that
// nothing can bring back unnoticed: those older than Policy.Cap, and founders that
// lead their own cluster, untouched for Policy.Window. A change of such an item or
// cluster (a revision, a merge, an editor's word) posts it again.
//
// Look-ups that are bounded (a family's nearest, a hot key's newest) count the
// dead as long as they are posted: there a sweep makes room for the living.

// sweepGroup is how many exemplars are removed under the writers' lock at once,
// sweepPause what writers get between two groups: 25,000 a second at most.
const (
	sweepGroup = 256
	sweepPause = 10 * time.Millisecond
)

// sweeper removes the postings of exemplars whose time is over.
type sweeper struct{ *catalogue }

// Sweep removes the postings of exemplars whose time is over, and returns how
// many those were. Everything else goes on meanwhile.
func (x sweeper) Sweep(ctx context.Context) (int, error) {
	x.write.Lock()
	at, end := x.horizon(), x.nextOrdinal
	x.write.Unlock()
	swept := 0
	var group []uint32
	for ordinal := uint32(1); ordinal < end; ordinal++ {
		if x.rows.Over(&x.policy, &x.clusters, ordinal, at) && x.rows.Flags(ordinal)&resident.Swept == 0 {
			group = append(group, ordinal)
		}
		if ordinal%(1<<16) == 0 {
			x.metrics.sweep.Set(float64(ordinal) / float64(end))
			if ctx.Err() != nil {
				return swept, ctx.Err()
			}
		}
		if len(group) == sweepGroup || ordinal == end-1 && len(group) > 0 {
			n, err := x.sweep(ctx, group, at)
			swept += n
			if err != nil {
				return swept, fmt.Errorf("index: sweep: %w", err)
			}
			group = group[:0]
		}
	}
	x.metrics.sweep.Set(1)
	return swept, nil
}

// sweep removes a group. Between the pages and the columns of a snapshot
// nothing is swept, so that what the columns call posted is in the pages.
func (x sweeper) sweep(ctx context.Context, group []uint32, at uint32) (int, error) {
	postings := make([]resident.Posting, len(group))
	for i, ordinal := range group {
		var err error
		if postings[i], err = x.readPosting(ctx, ordinal); err != nil {
			return 0, err
		}
	}
	n := 0
	x.snapshot.Exclude(func() {
		x.write.Lock()
		defer x.write.Unlock()
		for i, ordinal := range group {
			f := x.rows.Flags(ordinal)
			if x.closed || f&resident.Swept != 0 || !x.rows.Over(&x.policy, &x.clusters, ordinal, at) {
				continue // changed since
			}
			x.matcher.Unpost(ordinal, postings[i])
			x.rows.SetFlags(ordinal, f|resident.Swept)
			x.matcher.Uncache(ordinal)
			n++
		}
	})
	x.metrics.swept.Add(float64(n))
	select {
	case <-ctx.Done():
		return n, ctx.Err()
	case <-time.After(sweepPause):
		return n, nil
	}
}

// sweepWhenDue starts a sweep in the background after a batch, once a 64th of
// the window has gone by in the stream's time. Guarded by Index.write.
func (x sweeper) sweepWhenDue(ctx context.Context) {
	every := x.cfg.SweepEvery
	if every == 0 {
		every = x.policy.Window / 64
	}
	now := x.rows.Arrived(x.nextOrdinal - 1)
	if every < 0 || float64(now) < float64(x.sweptAt)+every.Seconds() || !x.sweeping.CompareAndSwap(false, true) {
		return
	}
	x.sweptAt = now
	ctx, stop := context.WithCancel(context.WithoutCancel(ctx))
	context.AfterFunc(x.ending, stop)
	x.background.Go(func() {
		defer stop()
		defer x.sweeping.Store(false)
		n, err := x.Sweep(ctx)
		switch {
		case ctx.Err() != nil: // the end of the service
		case err != nil:
			x.log.ErrorContext(ctx, "sweep", "error", err)
		case n > 0:
			x.log.InfoContext(ctx, "exemplars whose time is over were removed", "exemplars", n)
		}
	})
}
