package index

import (
	"cmp"
	"context"
	"fmt"
	"time"

	"jianguo/index/resident"
	"jianguo/internal/clock"
)

// Retention. Judging skips expired exemplars (alive), and a look-up passes over them
// (Bands.Among), so verdicts do not depend on the time at which their postings are
// removed; but past 5 million exemplars their number bounds margin look-ups (Bands.Full).
// The sweep removes these postings to free memory and to shorten look-ups. It removes
// two kinds of exemplars: those older than Policy.Cap, and founders that lead their own
// cluster and were not touched for Policy.Window. Both can only return by a change of the
// item or cluster (a revision, a merge, a decision), which posts them again. Rows and ids
// are never removed.

// sweepGroup is the number of exemplars that are removed under one hold of the
// writers' lock. sweepPause is the time for writers between two groups. Together
// they allow 25,000 removals a second.
const (
	sweepGroup = 256
	sweepPause = 10 * time.Millisecond
)

// sweeper removes the postings of expired exemplars.
type sweeper struct{ *catalogue }

// Sweep removes the postings of expired exemplars and returns the number of these
// exemplars. All other methods may run meanwhile.
func (x sweeper) Sweep(ctx context.Context) (int, error) {
	x.writeMu.Lock()
	// What has expired by then has expired for every later message.
	at, end := x.bounded(x.tables.Rows.Horizon(x.nextOrdinal-1)), x.nextOrdinal
	x.writeMu.Unlock()
	swept := 0
	var group []uint32
	for ordinal := uint32(1); ordinal < end; ordinal++ {
		if x.tables.Rows.Over(&x.policy, &x.clusters, ordinal, at) && x.tables.Rows.Flags(ordinal)&resident.Swept == 0 {
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

// sweep removes a group. It removes nothing between the writing of a snapshot's
// pages and that of its columns: the pages must hold every exemplar that the
// columns mark as posted.
func (x sweeper) sweep(ctx context.Context, group []uint32, at uint32) (int, error) {
	postings := make([]resident.Posting, len(group))
	for i, ordinal := range group {
		var err error
		postings[i], err = resident.ReadPosting(ctx, x.reader, x.recipe.Load().overlay.Compared(), ordinal)
		if err != nil {
			return 0, err
		}
	}
	n := 0
	x.snapshot.Exclude(func() {
		x.writeMu.Lock()
		defer x.writeMu.Unlock()
		for i, ordinal := range group {
			f := x.tables.Rows.Flags(ordinal)
			if x.closed || f&resident.Swept != 0 || !x.tables.Rows.Over(&x.policy, &x.clusters, ordinal, at) {
				continue // changed since
			}
			postings[i].RemoveFrom(x.tables.Bands, ordinal)
			x.tables.Rows.SetFlags(ordinal, f|resident.Swept)
			x.matcher.Uncache(ordinal)
			n++
		}
	})
	x.metrics.swept.Add(float64(n))
	return n, pause(ctx)
}

// pause lets writers work between two groups.
func pause(ctx context.Context) error { return clock.Sleep(ctx, sweepPause) }

// sweepWhenDue starts a sweep in the background after a batch, when a 64th of the
// window has passed in the time of the stream. Guarded by writeMu.
func (x sweeper) sweepWhenDue(ctx context.Context) {
	every := cmp.Or(x.cfg.SweepEvery, x.policy.Window/64)
	now := x.bounded(x.tables.Rows.Arrived(x.nextOrdinal - 1))
	if every < 0 || float64(now) < float64(x.sweptAt)+every.Seconds() || !x.sweeping.CompareAndSwap(false, true) {
		return
	}
	x.sweptAt = now
	x.background.Go(func() {
		defer x.sweeping.Store(false)
		n, err := x.Sweep(x.ending)
		switch {
		case x.ending.Err() != nil: // the service ends
		case err != nil:
			x.log.ErrorContext(ctx, "sweep", "error", err)
		case n > 0:
			x.log.InfoContext(ctx, "exemplars whose time is over were removed", "exemplars", n)
		}
	})
}
