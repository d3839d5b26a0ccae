// Package reindex makes a catalogue compare its versions by a new recipe, online.
//
// A row of items says by which fingerprint a version was judged, and never
// changes. What later articles are compared with is the version's form: the columns
// of its own row, or, after a reindex, a row of the recipe in force in the table
// overlay. There is a row only where the two differ: a new word in the dictionary
// changes few articles.
//
// Rows of two recipes can lie side by side, those in force and those that are being
// made; meta describes both, and one transaction makes the second the first. Rows
// of other recipes are removed. A service that runs meanwhile sees none of it until
// its next start.
package reindex

import (
	"bytes"
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"
	"runtime"
	"time"

	"golang.org/x/sync/errgroup"

	"jianguo/index/resident"
	"jianguo/index/sqlite"
	"jianguo/index/verdict"
	"jianguo/internal/must"
)

// WordsFileName is the file of the search inside the data directory. A reindex
// removes it: its words are those of the recipe.
const WordsFileName = "words.db"

// errFull ends a query of large texts early.
var errFull = errors.New("the batch is full")

// Config is what forms are made with. Dir, Recipe and Analyze are required.
type Config struct {
	Dir    string
	Recipe string // the hash of the recipe that Analyze applies
	// Analyze makes an article of a kept text: Exact, Blank, Print and Sketch.
	// It is called from several goroutines.
	Analyze func(title, body string, published time.Time) *verdict.Article
	Workers int // that call it; 0: one a processor
	Batch   int // versions a transaction, at most; 0: 2,048
	Logger  *slog.Logger
	// Prepare leaves the switch to a later run. A service may write meanwhile.
	Prepare bool
	// Progress is called with how many versions of how many have been read; may
	// be nil.
	Progress func(done, total int64)
	// Fail, where set, is called at named points; an error it returns stops the
	// run there. For tests.
	Fail func(point string) error
}

// Report is what a reindex has done, all its runs together.
type Report struct {
	Summary
	Items int64 `json:"items"` // versions that had been fingerprinted by another recipe
	// Switched is false where there was nothing to do, and where that is left to
	// a later call (Unfinished).
	Switched bool    `json:"switched"`
	Resumed  uint32  `json:"resumed,omitempty"` // after this ordinal: it had been interrupted
	Looked   int64   `json:"looked"`            // versions read by this run
	Seconds  float64 `json:"seconds"`
}

// run is a reindex in progress.
type run struct {
	cfg    Config
	db     *sql.DB // one connection
	goal   int64   // stamps.number of the recipe
	force  Overlay // in force
	doing  Overlay // being made
	last   uint32  // ordinal of the newest version
	report Report
}

// Run makes the forms of all versions whose text was kept, and then, by one
// transaction, has later articles compared with them. Nothing else changes: what
// was judged, decided and published stays. Versions without a kept text keep their
// form. db is the catalogue with one connection; nothing else may write to it,
// except while Prepare is set.
//
// Until the switch the catalogue compares by the forms that were in force. A Run
// that was interrupted continues where it was when it is called again, unless
// another recipe is wanted then; one that is complete does nothing.
//
// The next start derives what is resident again.
func Run(ctx context.Context, db *sql.DB, cfg Config) (*Report, error) {
	cfg.defaults()
	start := time.Now()
	r := &run{cfg: cfg, db: db}
	err := must.Catch(func() {
		r.begin(ctx)
		r.fill(ctx)
		r.end(ctx)
	})
	if err != nil {
		return nil, fmt.Errorf("reindex: %w", err)
	}
	r.report.Recipe, r.report.Seconds = cfg.Recipe, time.Since(start).Seconds()
	r.report.Through, r.report.Items = r.doing.Through, r.doing.Items
	r.report.Changed, r.report.WithoutText, r.report.Failed = r.doing.Changed, r.doing.WithoutText, r.doing.Failed
	return &r.report, nil
}

func (c *Config) defaults() {
	if c.Workers == 0 {
		c.Workers = runtime.GOMAXPROCS(0)
	}
	if c.Batch == 0 {
		c.Batch = 2048
	}
	if c.Logger == nil {
		c.Logger = slog.New(slog.DiscardHandler)
	}
	if c.Progress == nil {
		c.Progress = func(int64, int64) {}
	}
	if c.Fail == nil {
		c.Fail = func(string) error { return nil }
	}
}

// begin finds out where to continue, and removes rows that nothing uses.
func (r *run) begin(ctx context.Context) {
	r.goal = must.Get(stampOf(ctx, r.db, r.cfg.Recipe))
	r.force, r.doing = must.Get(stored(ctx, r.db, InForce)), must.Get(stored(ctx, r.db, Underway))
	must.Do(r.db.QueryRowContext(ctx, `SELECT coalesce(max(ordinal), 0) FROM items`).Scan(&r.last))
	if r.doing.Recipe == r.goal {
		r.report.Resumed = r.doing.Through
	} else {
		// The mark is removed before the rows: a part of them must not look complete.
		must.Get(r.db.ExecContext(ctx, `DELETE FROM meta WHERE key = ?`, Underway))
		if r.doing = (Overlay{Recipe: r.goal}); r.force.Recipe == r.goal {
			r.doing = r.force // versions newer than it may be of another recipe
		}
	}
	r.clean(ctx)
}

// stampOf gives a recipe its number.
func stampOf(ctx context.Context, db *sql.DB, recipe string) (n int64, err error) {
	_, err = db.ExecContext(ctx, `INSERT INTO stamps (number, kind, hash, detail) SELECT (SELECT count(*) + 1 FROM stamps), 'recipe', ?, ''
		WHERE NOT EXISTS (SELECT 1 FROM stamps WHERE kind = 'recipe' AND hash = ?)`, recipe, recipe)
	if err == nil {
		err = db.QueryRowContext(ctx, `SELECT number FROM stamps WHERE kind = 'recipe' AND hash = ?`, recipe).Scan(&n)
	}
	return n, err
}

// cleanStep is how many rows one transaction removes.
const cleanStep = 20_000

// clean removes the rows of recipes that are neither in force nor being made.
func (r *run) clean(ctx context.Context) {
	in := func(recipe int64) (from, to int64) { return recipe << 32, recipe<<32 | 0xffffffff }
	f1, t1 := in(r.force.Recipe)
	f2, t2 := in(r.doing.Recipe)
	for {
		done := must.Get(r.db.ExecContext(ctx, `DELETE FROM overlay WHERE place IN (SELECT place FROM overlay
			WHERE place NOT BETWEEN ? AND ? AND place NOT BETWEEN ? AND ? LIMIT ?)`, f1, t1, f2, t2, cleanStep))
		if must.Get(done.RowsAffected()) == 0 {
			return
		}
		must.Do(r.cfg.Fail("clean"))
	}
}

// kept is a version as a reindex reads it.
type kept struct {
	ordinal   uint32
	recipe    int64
	title     string
	published sql.NullInt64
	own       Form
	packed    []byte // nil: not kept

	made    Form
	changed bool
	failed  error
}

// batchBytes bounds the packed texts of a batch.
const batchBytes = 16 << 20

// keptQuery reads no texts of versions that are of the recipe already.
const keptQuery = `SELECT i.ordinal, i.recipe, i.title, i.published_at, i.exact, i.fingerprint, i.sketch, t.body
	FROM items i LEFT JOIN texts t ON t.ordinal = i.ordinal AND i.recipe != ?
	WHERE i.ordinal > ? ORDER BY i.ordinal LIMIT ?`

// readKept reads the next versions after an ordinal.
func readKept(ctx context.Context, db *sql.DB, goal int64, after uint32, limit int) ([]kept, error) {
	var batch []kept
	size := 0
	err := sqlite.Each(ctx, db, keptQuery, func(rows *sql.Rows) error {
		var k kept
		err := rows.Scan(&k.ordinal, &k.recipe, &k.title, &k.published, &k.own.Exact, &k.own.Fingerprint, &k.own.Sketch, &k.packed)
		batch = append(batch, k)
		if size += len(k.packed); err == nil && size > batchBytes {
			return errFull
		}
		return err
	}, goal, after, limit)
	if errors.Is(err, errFull) {
		err = nil
	}
	return batch, err
}

// analyze makes the forms of a batch.
func (c *Config) analyze(ctx context.Context, batch []kept) error {
	g, ctx := errgroup.WithContext(ctx)
	next := make(chan *kept)
	for range c.Workers {
		g.Go(func() error {
			for k := range next {
				k.failed = k.analyze(c.Analyze)
			}
			return nil
		})
	}
	g.Go(func() error {
		defer close(next)
		for i := range batch {
			if batch[i].packed == nil {
				continue
			}
			select {
			case next <- &batch[i]:
			case <-ctx.Done():
				return ctx.Err()
			}
		}
		return nil
	})
	return g.Wait()
}

// analyze makes the form of a text. One that cannot be analysed must not stop the
// others.
func (k *kept) analyze(f func(title, body string, published time.Time) *verdict.Article) (err error) {
	defer func() {
		if v := recover(); v != nil {
			err = fmt.Errorf("panic: %v", v)
		}
	}()
	body, err := verdict.UnpackText(k.packed)
	if err != nil {
		return err
	}
	var published time.Time
	if k.published.Valid {
		published = time.UnixMilli(k.published.Int64).UTC()
	}
	a := f(k.title, body, published)
	if a.Blank {
		k.changed = k.own.Exact != nil
		return nil
	}
	k.made = Form{Exact: bytes.Clone(a.Exact[:]), Fingerprint: int64(a.Print.Fingerprint), Sketch: a.Sketch.AppendBinary(nil)}
	k.changed = k.made.Fingerprint != k.own.Fingerprint || !bytes.Equal(k.made.Exact, k.own.Exact) || !bytes.Equal(k.made.Sketch, k.own.Sketch)
	return nil
}

// count adds what became of a version to an overlay.
func (o *Overlay) count(k *kept, goal int64) {
	o.Through = k.ordinal
	if k.recipe == goal {
		return
	}
	o.Items++
	switch {
	case k.packed == nil && k.own.Exact != nil:
		o.WithoutText++
	case k.failed != nil:
		o.Failed++
	case k.changed:
		o.Changed++
	}
}

// fill makes the rows of all versions after doing.Through.
func (r *run) fill(ctx context.Context) {
	for {
		batch := must.Get(readKept(ctx, r.db, r.goal, r.doing.Through, r.cfg.Batch))
		if len(batch) == 0 {
			return
		}
		must.Do(r.cfg.analyze(ctx, batch))
		r.write(ctx, batch)
		r.report.Looked += int64(len(batch))
		r.cfg.Progress(int64(r.doing.Through), int64(r.last))
	}
}

// write adds a batch's rows, and says so, in one transaction.
func (r *run) write(ctx context.Context, batch []kept) {
	next := r.doing
	r.transaction(ctx, func(tx *sql.Tx) {
		insert := must.Get(tx.PrepareContext(ctx, `INSERT OR REPLACE INTO overlay (place, exact, fingerprint, sketch) VALUES (?, ?, ?, ?)`))
		defer insert.Close()
		for i := range batch {
			k := &batch[i]
			next.count(k, r.goal)
			if k.failed != nil {
				r.cfg.Logger.WarnContext(ctx, "a kept text cannot be analysed: its item keeps its fingerprint", "ordinal", k.ordinal, "error", k.failed)
				continue
			}
			if k.changed {
				_, err := insert.ExecContext(ctx, next.place(k.ordinal), k.made.Exact, k.made.Fingerprint, k.made.Sketch)
				must.Dof(err, "ordinal %d", k.ordinal)
			}
		}
		store(ctx, tx, Underway, next)
	})
	r.doing = next
}

// end makes the rows those in force.
func (r *run) end(ctx context.Context) {
	nothing := r.force.Recipe == 0 && r.doing.Items == 0 || r.force.Recipe == r.goal && r.doing.Items == r.force.Items
	if nothing {
		if r.force.Recipe == 0 {
			r.doing.Recipe = 0
		} else {
			r.doing = r.force
		}
		must.Get(r.db.ExecContext(ctx, `DELETE FROM meta WHERE key = ?`, Underway))
		return
	}
	if r.cfg.Prepare {
		r.report.Unfinished = true
		return
	}
	must.Do(sqlite.Remove(filepath.Join(r.cfg.Dir, WordsFileName)))
	r.transaction(ctx, func(tx *sql.Tx) {
		must.Get(tx.ExecContext(ctx, `DELETE FROM meta WHERE key = ?`, Underway))
		store(ctx, tx, InForce, r.doing)
	})
	r.report.Switched = true
	r.force = r.doing
	must.Do(r.cfg.Fail("switched"))
	// The snapshot is of the old forms.
	removed := sqlite.Remove(filepath.Join(r.cfg.Dir, resident.SnapshotFileName))
	r.clean(ctx)
	must.Do(removed)
}

func store(ctx context.Context, tx *sql.Tx, key string, o Overlay) {
	must.Get(tx.ExecContext(ctx, `INSERT INTO meta (key, value) VALUES (?, ?) ON CONFLICT (key) DO UPDATE SET value = excluded.value`,
		key, string(must.Get(json.Marshal(o)))))
}

func (r *run) transaction(ctx context.Context, f func(*sql.Tx)) {
	tx := must.Get(r.db.BeginTx(ctx, nil))
	defer func() { _ = tx.Rollback() }() // nothing to do after a commit
	f(tx)
	must.Do(r.cfg.Fail("commit"))
	must.Do(tx.Commit())
}
