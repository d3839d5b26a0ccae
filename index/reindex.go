package index

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"sync/atomic"

	"jianguo/index/match"
	"jianguo/index/reindex"
	"jianguo/index/resident"
	"jianguo/internal/must"
	"jianguo/internal/sqlite"
)

// See package reindex.
type (
	ReindexConfig = reindex.Config
	ReindexReport = reindex.Report
)

// Reindex makes the index compare its versions by a new recipe, and take articles of that
// recipe from then on. All other methods may run meanwhile. switched is called under the
// writers' lock right before the first article of the new recipe can be added. A Reindex that
// ends early leaves the recipe in force; the next one goes on where it was.
//
// The forms of the new recipe are made beside everything else (reindex.Run), and what they change in
// memory is read. The switch holds the writers' lock: it makes the forms of the versions that have just
// arrived, commits that the new forms are in force, and replaces the postings that have changed, in
// 15 µs a version at most.
func (x *Index) Reindex(ctx context.Context, cfg ReindexConfig, switched func()) (report *ReindexReport, err error) {
	x.writeMu.Lock()
	if x.closed {
		x.writeMu.Unlock()
		return nil, ErrClosed
	}
	x.background.Add(1)
	x.writeMu.Unlock()
	defer x.background.Done()
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	defer context.AfterFunc(x.ending, stop)()
	// A connection beside the writer's.
	db, err := sqlite.Open(filepath.Join(x.cfg.Dir, FileName), sqlite.Writes, "FULL")
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	db.SetMaxOpenConns(1)
	progress := cfg.Progress
	cfg.Progress = func(done, total int64) {
		if x.metrics.reindex.Set(float64(done) / float64(total)); progress != nil {
			progress(done, total)
		}
	}
	if err := must.Catch(func() { report = reindexing{x.catalogue, cfg}.run(ctx, db, switched) }); err != nil {
		return nil, fmt.Errorf("index: %w", err)
	}
	return report, nil
}

// reindexing is a call of Reindex.
type reindexing struct {
	*catalogue
	cfg ReindexConfig
}

func (x reindexing) run(ctx context.Context, db *sql.DB, switched func()) *ReindexReport {
	// Outlines are of the forms in force until they have been read. No sweep and no snapshot sees a part
	// of the switch.
	select {
	case <-x.outlined:
	case <-ctx.Done():
		must.Do(ctx.Err())
	}
	for _, busy := range []*atomic.Bool{&x.sweeping, &x.snapshotting} {
		for !busy.CompareAndSwap(false, true) {
			must.Do(pause(ctx))
		}
		defer busy.Store(false)
	}
	var made *reindex.Run
	next := &recipeInForce{hash: x.cfg.Recipe}
	x.locked(func() {
		next.stamp = must.Get(x.stamp(ctx, next.hash))
		made = must.Get(reindex.Begin(ctx, db, x.cfg, next.stamp))
	})
	force := x.recipe.Load().overlay
	must.Do(made.Fill(ctx))
	changes, through := must.Get(reindex.Changes(ctx, x.reader, force, made.Next(), 0)), made.Next().Through
	x.locked(func() {
		ctx := context.WithoutCancel(ctx)
		must.Do(made.Fill(ctx)) // what has arrived meanwhile
		changes = append(changes, must.Get(reindex.Changes(ctx, x.reader, force, made.Next(), through))...)
		x.switchTo(ctx, made, next, changes, switched)
	})
	err := must.Catch(func() {
		// Outlines of what has changed are read by the next start: CompareAhead may be reading the former ones.
		must.Do(made.Clean(ctx))
		must.Do(snapshots{x.catalogue}.Snapshot(ctx))
	})
	if err != nil && ctx.Err() == nil {
		x.log.ErrorContext(ctx, "after a reindex: the next start does the rest", "error", err)
	}
	return made.Report()
}

// locked calls f under the writers' lock.
func (x reindexing) locked(f func()) {
	x.writeMu.Lock()
	defer x.writeMu.Unlock()
	if x.closed {
		must.Do(ErrClosed)
	}
	f()
}

// switchTo puts the new recipe in force, in the files and then in memory. Guarded by writeMu.
func (x reindexing) switchTo(
	ctx context.Context, made *reindex.Run, next *recipeInForce, changes []reindex.Change, switched func(),
) {
	next.overlay = made.Next()
	next.Reader = match.Reader{DB: x.judgeReader, Compared: next.overlay.Compared()}
	// Versions in current have their flags from there; the others get those that a start derives.
	var turned []uint32
	for i := range changes {
		if changes[i].Turned {
			turned = append(turned, changes[i].Ordinal)
		}
	}
	current := must.Get(sqlite.Column[uint32](ctx, x.reader, `SELECT ordinal FROM current
		WHERE ordinal IN (SELECT value FROM json_each(?))`, sqlite.List(turned)))
	must.Do(made.Switch(ctx))
	switched()
	rows := x.tables.Rows
	for i := range changes {
		c := &changes[i]
		posted := func() bool {
			return rows.Flags(c.Ordinal)&(resident.Exemplar|resident.Swept) == resident.Exemplar
		}
		if posted() {
			c.Before.RemoveFrom(x.tables.Bands, c.Ordinal)
		}
		if c.Turned && !slices.Contains(current, c.Ordinal) {
			rows.SetFlags(c.Ordinal, resident.Arrival(rows.Flags(c.Ordinal).Verdict(), c.Blank))
		}
		if posted() {
			c.After.AddTo(x.tables.Bands, c.Ordinal)
		}
		if !c.Blank {
			x.tables.Exacts.Put(c.Exact, c.Ordinal)
		}
		rows.ForgetOutline(c.Ordinal)
	}
	// Last: this drops comparisons that have begun, which may be by both recipes.
	x.recipe.Store(next)
	x.inBatch.Compared = next.Compared
	x.matcher.CompareBy(next.Compared)
}
