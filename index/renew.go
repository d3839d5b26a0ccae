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
// arrived, commits that the new forms are in force, and replaces the postings of the versions that have
// changed, some microseconds each.
func (x *Index) Reindex(ctx context.Context, cfg ReindexConfig, switched func()) (report *ReindexReport, err error) {
	x.write.Lock()
	if x.closed {
		x.write.Unlock()
		return nil, ErrClosed
	}
	x.background.Add(1)
	x.write.Unlock()
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
	if err := must.Catch(func() { report = renewing{x.catalogue, cfg}.run(ctx, db, switched) }); err != nil {
		return nil, fmt.Errorf("index: %w", err)
	}
	return report, nil
}

// renewing is a call of Reindex.
type renewing struct {
	*catalogue
	cfg ReindexConfig
}

func (x renewing) run(ctx context.Context, db *sql.DB, switched func()) *ReindexReport {
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
	next := &forms{recipe: x.cfg.Recipe}
	x.locked(func() {
		next.stamp = must.Get(x.stamp(ctx, next.recipe))
		made = must.Get(reindex.Begin(ctx, db, x.cfg, next.stamp))
	})
	force := x.forms.Load().overlay
	must.Do(made.Fill(ctx))
	changes, through := must.Get(reindex.Changes(ctx, x.reader, force, made.Next(), 0)), made.Next().Through
	x.locked(func() {
		ctx := context.WithoutCancel(ctx)
		must.Do(made.Fill(ctx)) // what has arrived meanwhile
		changes = append(changes, must.Get(reindex.Changes(ctx, x.reader, force, made.Next(), through))...)
		x.change(ctx, made, next, changes, switched)
	})
	err := must.Catch(func() {
		// Outlines of what has changed are read by the next start: previews may be reading those of before.
		must.Do(made.Clean(ctx))
		must.Do(snapshots{x.catalogue}.Snapshot(ctx))
	})
	if err != nil && ctx.Err() == nil {
		x.log.ErrorContext(ctx, "after a reindex: the next start does the rest", "error", err)
	}
	return made.Report()
}

// locked calls f under the writers' lock.
func (x renewing) locked(f func()) {
	x.write.Lock()
	defer x.write.Unlock()
	if x.closed {
		must.Do(ErrClosed)
	}
	f()
}

// change puts the new recipe in force, in the files and then in memory. Guarded by Index.write.
func (x renewing) change(
	ctx context.Context, made *reindex.Run, next *forms, changes []reindex.Change, switched func(),
) {
	next.overlay = made.Next()
	next.Reader = match.Reader{DB: x.judges, Compared: next.overlay.Compared()}
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
	// Last: a preview that was made of both is then one of the former recipe, and is not used.
	x.forms.Store(next)
	x.judging.Compared = next.Compared
	x.matcher.CompareBy(next.Compared)
}
