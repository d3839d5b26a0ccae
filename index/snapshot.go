package index

import (
	"context"
	"fmt"
	"time"

	"jianguo/index/resident"
)

const SnapshotFileName = resident.SnapshotFileName

// Config.SnapshotEvery's default, and the share of the index that has to have
// changed: an eighth, so that over the years a snapshot costs about eight times
// what was added, and a start after a crash replays no more than an eighth.
const (
	defaultSnapshotEvery = 200_000
	snapshotShare        = 8
)

// Snapshot writes the resident data to the snapshot file. All other methods may run meanwhile.
func (x snapshots) Snapshot(ctx context.Context) error {
	start := time.Now()
	m, pages, err := x.snapshot.Write(ctx, resident.Source{
		Tables:    x.tables,
		Catalogue: x.recipe.Load().overlay.SnapshotOf(x.identity), Writers: &x.writeMu, Last: x.mark,
	})
	if err != nil {
		return fmt.Errorf("index: %w", err)
	}
	took := time.Since(start).Seconds()
	x.snapshotEvent.Store(m.Event)
	x.metrics.snapshot.Set(took)
	x.log.InfoContext(ctx, "snapshot written", "items", m.Ordinal, "pages", pages, "seconds", took)
	return nil
}

// snapshots writes the resident data to its own file.
type snapshots struct{ *catalogue }

// snapshotWhenDue starts a snapshot in the background after a batch, if enough has changed.
// Guarded by writeMu.
func (x snapshots) snapshotWhenDue(ctx context.Context) {
	event := int64(x.nextEvent) - 1
	due := event-x.snapshotEvent.Load() >= max(x.cfg.SnapshotEvery, event/snapshotShare)
	if !due || !x.snapshotting.CompareAndSwap(false, true) {
		return
	}
	x.background.Go(func() {
		defer x.snapshotting.Store(false)
		if err := x.Snapshot(context.WithoutCancel(ctx)); err != nil {
			// The catalogue has everything: only the next start takes longer.
			x.log.ErrorContext(ctx, "snapshot", "error", err)
			x.snapshotEvent.Store(event)
		}
	})
}
