package index

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"path/filepath"
	"sync/atomic"

	"jianguo/index/match"
	"jianguo/index/reindex"
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
// The forms of the new recipe are made beside everything else (reindex.Run). Then versions are
// posted by them in addition to the forms in force, a few at a time, so that articles of either
// recipe meet them. The switch holds the writers' lock: it makes the forms of the versions that
// have just arrived, commits that the new forms are in force, and lets go. After it, the former
// postings are removed.
//
// On the disk there is nothing between the two recipes. What is in memory only, the second
// postings, is in no snapshot; a start derives one set.
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
	// Outlines are of the forms in force until they have been read. No sweep and no
	// snapshot sees versions that are posted twice.
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
	x.locked(func() {
		made = must.Get(reindex.Begin(ctx, db, x.cfg, must.Get(x.stamp(ctx, x.cfg.Recipe))))
		x.second = &reindex.Second{DB: x.reader, Rows: x.tables.Rows, Put: x.tables.Exacts.Put, Matcher: x.matcher,
			Force: x.forms.Load().overlay}
	})
	defer x.settle(ctx, made)
	for range 2 { // the second time for what has arrived meanwhile
		must.Do(made.Fill(ctx))
		x.repeat(ctx, func() bool {
			x.second.Other = made.Next()
			return must.Get(x.second.Post(ctx))
		})
	}
	x.locked(func() { x.change(context.WithoutCancel(ctx), made, switched) })
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

// repeat calls f under the writers' lock while it returns true, with pauses for the writers.
func (x renewing) repeat(ctx context.Context, f func() (more bool)) {
	for more := true; more; must.Do(pause(ctx)) {
		x.locked(func() { more = f() })
	}
}

// change puts the new recipe in force. Guarded by Index.write.
func (x renewing) change(ctx context.Context, made *reindex.Run, switched func()) {
	must.Do(made.Fill(ctx)) // what has arrived in the last moments
	next := &forms{overlay: made.Next(), recipe: x.cfg.Recipe, stamp: x.stamps["recipe"+x.cfg.Recipe]}
	for x.second.Other = next.overlay; must.Get(x.second.Post(ctx)); {
	}
	compared := next.overlay.Compared()
	next.readers.Reader = match.Reader{DB: x.judges, Compared: compared}
	must.Do(made.Switch(ctx))
	switched()
	x.forms.Store(next)
	x.matcher.CompareBy(compared)
	x.judging.Compared = compared
	must.Do(x.second.Switch(ctx))
}

// settle ends a reindex: the second postings are removed, and the forms that are not in
// force.
func (x renewing) settle(ctx context.Context, made *reindex.Run) {
	err := must.Catch(func() {
		x.repeat(x.ending, func() bool { return must.Get(x.second.Unpost(context.WithoutCancel(ctx))) })
		x.locked(func() { x.second = nil })
		must.Do(made.Clean(x.ending))
		must.Do(snapshots{x.catalogue}.Snapshot(x.ending))
	})
	if err != nil && x.ending.Err() == nil {
		x.log.ErrorContext(ctx, "after a reindex: the next start does the rest", "error", err)
	}
}
