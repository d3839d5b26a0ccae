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
// of other recipes are removed. index.Index.Reindex does this while articles arrive.
package reindex

import (
	"bytes"
	"cmp"
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"log/slog"
	"runtime"
	"time"

	"golang.org/x/sync/errgroup"

	"jianguo/index/verdict"
	"jianguo/internal/must"
	"jianguo/internal/sqlite"
)

// Config is what forms are made with. Recipe and Analyze are required.
type Config struct {
	Recipe string // the hash of the recipe that Analyze applies
	// Analyze makes an article of a kept text: Exact, Blank, Print and Sketch.
	// It is called from a goroutine a processor.
	Analyze func(title, body string, published time.Time) *verdict.Article
	Batch   int // versions a transaction, at most; 0: 2,048
	Logger  *slog.Logger
	// Progress is called with how many versions of how many have been read; may
	// be nil.
	Progress func(done, total int64)
	// Fail, where set, is called at named points; an error it returns stops the
	// run there. For tests.
	Fail func(point string) error
}

// Report is what a reindex has done, all its runs together.
type Report struct {
	Recipe   string  `json:"recipe"`
	Through  uint32  `json:"through"`           // ordinal of the last version that was read
	Items    int64   `json:"items"`             // versions that had been fingerprinted by another recipe
	Changed  int64   `json:"changed"`           // of those, have another form since
	Failed   int64   `json:"failed,omitempty"`  // of those, keep their form: their text could not be analysed
	Switched bool    `json:"switched"`          // false where there was nothing to do
	Resumed  uint32  `json:"resumed,omitempty"` // after this ordinal: it had been interrupted
	Looked   int64   `json:"looked"`            // versions read by this run
	Seconds  float64 `json:"seconds"`
}

// Run makes forms of the versions, and puts them in force. Nothing else changes: what was judged, decided and
// published stays. A Run that was interrupted is continued by the next one, unless that is of another recipe.
type Run struct {
	cfg      Config
	db       *sql.DB // one connection
	goal     int64   // stamps.number of the recipe
	inForce  Overlay
	underway Overlay // being made
	report   Report
	start    time.Time
}

// Begin finds out where to continue, and removes rows that nothing uses. goal is the number of
// the recipe; db is the catalogue, with one connection.
func Begin(ctx context.Context, db *sql.DB, cfg Config, goal int64) (*Run, error) {
	cfg.defaults()
	r := &Run{cfg: cfg, db: db, goal: goal, start: time.Now()}
	err := must.Catch(func() {
		r.inForce, r.underway = must.Get(Stored(ctx, db, InForce)), must.Get(Stored(ctx, db, Underway))
		if r.underway.Recipe == goal {
			r.report.Resumed = r.underway.Through
			return
		}
		// The mark is removed before the rows: a part of them must not look complete.
		must.Get(db.ExecContext(ctx, `DELETE FROM meta WHERE key = ?`, Underway))
		if r.underway = (Overlay{Recipe: goal}); r.inForce.Recipe == goal {
			r.underway = r.inForce // versions newer than it may be of another recipe
		}
	})
	if err != nil {
		return nil, err
	}
	return r, r.Clean(ctx)
}

func (r *Run) Report() *Report {
	report := r.report
	report.Recipe, report.Through, report.Seconds = r.cfg.Recipe, r.underway.Through, time.Since(r.start).Seconds()
	report.Items, report.Changed, report.Failed = r.underway.Items, r.underway.Changed, r.underway.Failed
	return &report
}

func (c *Config) defaults() {
	c.Batch, c.Logger = cmp.Or(c.Batch, 2048), cmp.Or(c.Logger, slog.New(slog.DiscardHandler))
	if c.Progress == nil {
		c.Progress = func(int64, int64) {}
	}
	if c.Fail == nil {
		c.Fail = func(string) error { return nil }
	}
}

const cleanStep = 20_000

// Clean removes the rows of recipes that are neither in force nor being made.
func (r *Run) Clean(ctx context.Context) error {
	in := func(recipe int64) (from, to int64) { return recipe << 32, recipe<<32 | 0xffffffff }
	f1, t1 := in(r.inForce.Recipe)
	f2, t2 := in(r.underway.Recipe)
	return must.Catch(func() {
		for {
			done := must.Get(r.db.ExecContext(ctx, `DELETE FROM overlay WHERE place IN (SELECT place FROM overlay
				WHERE place NOT BETWEEN ? AND ? AND place NOT BETWEEN ? AND ? LIMIT ?)`, f1, t1, f2, t2, cleanStep))
			if must.Get(done.RowsAffected()) == 0 {
				return
			}
			must.Do(r.cfg.Fail("clean"))
		}
	})
}

// kept is a version as a reindex reads it.
type kept struct {
	ordinal   uint32
	recipe    int64
	title     string
	published sql.NullInt64
	own       Form
	packed    []byte // nil: of the recipe already, or without a text

	form    Form // by the recipe that is being made
	changed bool
	failed  error
}

const batchBytes = 16 << 20

// keptQuery reads no texts of versions that are of the recipe already.
const keptQuery = `SELECT i.ordinal, i.recipe, i.title, i.published_at, i.exact, i.fingerprint, i.sketch, t.body
	FROM items i LEFT JOIN texts t ON t.ordinal = i.ordinal AND i.recipe != ?
	WHERE i.ordinal > ? ORDER BY i.ordinal LIMIT ?`

// read reads the next versions, and makes their forms. It panics on errors (must).
func (r *Run) read(ctx context.Context) (batch []kept) {
	size := 0
	for rows := range sqlite.Rows(ctx, r.db, keptQuery, r.goal, r.underway.Through, r.cfg.Batch) {
		var k kept
		must.Do(rows.Scan(&k.ordinal, &k.recipe, &k.title, &k.published, &k.own.Exact, &k.own.Fingerprint,
			&k.own.Sketch, &k.packed))
		batch = append(batch, k)
		if size += len(k.packed); size > batchBytes {
			break
		}
	}
	var g errgroup.Group
	g.SetLimit(runtime.GOMAXPROCS(0))
	for i := range batch {
		if k := &batch[i]; k.packed != nil && ctx.Err() == nil {
			g.Go(func() error {
				k.failed = k.analyze(r.cfg.Analyze)
				return nil
			})
		}
	}
	_ = g.Wait() // no error: each is with its text
	must.Do(ctx.Err())
	return batch
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
	k.form = Form{Exact: bytes.Clone(a.Exact[:]), Fingerprint: int64(a.Print.Fingerprint),
		Sketch: a.Sketch.AppendBinary(nil)}
	k.changed = k.form.Fingerprint != k.own.Fingerprint || !bytes.Equal(k.form.Exact, k.own.Exact) ||
		!bytes.Equal(k.form.Sketch, k.own.Sketch)
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
	case k.failed != nil:
		o.Failed++
	case k.changed:
		o.Changed++
	}
}

// Fill makes the forms of all versions that have none yet.
func (r *Run) Fill(ctx context.Context) error {
	return must.Catch(func() {
		var last int64
		must.Do(r.db.QueryRowContext(ctx, `SELECT coalesce(max(ordinal), 0) FROM items`).Scan(&last))
		for batch := r.read(ctx); len(batch) > 0; batch = r.read(ctx) {
			r.write(ctx, batch)
			r.report.Looked += int64(len(batch))
			r.cfg.Progress(int64(r.underway.Through), max(last, int64(r.underway.Through)))
		}
	})
}

// write adds a batch's rows, and says so, in one transaction. It panics on errors (must).
func (r *Run) write(ctx context.Context, batch []kept) {
	next := r.underway
	sqlite.Update(ctx, r.db, func(tx *sql.Tx) {
		insert := must.Get(tx.PrepareContext(ctx, `INSERT OR REPLACE INTO overlay (place, exact, fingerprint, sketch)
			VALUES (?, ?, ?, ?)`))
		defer insert.Close()
		for i := range batch {
			k := &batch[i]
			next.count(k, r.goal)
			if k.failed != nil {
				r.cfg.Logger.WarnContext(ctx, "a kept text cannot be analysed: its item keeps its fingerprint",
					"ordinal", k.ordinal, "error", k.failed)
				continue
			}
			if k.changed {
				_, err := insert.ExecContext(ctx, next.Place(k.ordinal), k.form.Exact, k.form.Fingerprint,
					k.form.Sketch)
				must.Dof(err, "ordinal %d", k.ordinal)
			}
		}
		store(ctx, tx, Underway, next)
		must.Do(r.cfg.Fail("commit"))
	})
	r.underway = next
}

// Next returns the overlay that Switch puts in force.
func (r *Run) Next() Overlay {
	now, next := r.inForce, r.underway
	if now.Recipe == 0 && next.Items == 0 || now.Recipe == r.goal && next.Items == now.Items {
		return now // there is nothing to do
	}
	return next
}

// Switch puts Next in force, by one transaction.
func (r *Run) Switch(ctx context.Context) error {
	next := r.Next()
	return must.Catch(func() {
		sqlite.Update(ctx, r.db, func(tx *sql.Tx) {
			must.Get(tx.ExecContext(ctx, `DELETE FROM meta WHERE key = ?`, Underway))
			if next != r.inForce {
				store(ctx, tx, InForce, next)
			}
			must.Do(r.cfg.Fail("commit"))
		})
		r.report.Switched = next != r.inForce
		r.inForce, r.underway = next, next
	})
}

func store(ctx context.Context, tx *sql.Tx, key string, o Overlay) {
	must.Get(tx.ExecContext(ctx, `INSERT INTO meta (key, value) VALUES (?, ?)
		ON CONFLICT (key) DO UPDATE SET value = excluded.value`,
		key, string(must.Get(json.Marshal(o)))))
}
