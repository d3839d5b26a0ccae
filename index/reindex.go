package index

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

	"jianguo/index/sqlite"
	"jianguo/index/verdict"
)

// WordsFileName is the file of the search (package browse) inside the data
// directory. A reindex removes it: its words are the recipe's.
const WordsFileName = "words.db"

// errFull ends a query of large texts early.
var errFull = errors.New("the batch is full")

// ReindexConfig says what to make the forms of a catalogue's versions with. Dir,
// Recipe and Analyze are required.
type ReindexConfig struct {
	Dir    string
	Recipe string // the hash of what Analyze does, as Config.Recipe
	// Analyze makes an article of a kept text: Exact, Blank, Print and Sketch.
	// It is called from several goroutines.
	Analyze func(title, body string, published time.Time) *Article
	Workers int // that call it; 0: one a processor
	Batch   int // versions a transaction, at most; 0: 2,048
	Logger  *slog.Logger
	// Prepare leaves the switch to a later call: then a service may be writing.
	Prepare bool
	// Progress is told how many of how many versions have been looked at; nil:
	// nobody asks.
	Progress func(done, total int64)
	// Fail is as in Config.
	Fail func(point string) error
}

// ReindexReport is what a Reindex did, from its beginning, whenever that was.
type ReindexReport struct {
	Reindexed
	Items int64 `json:"items"` // versions that had been fingerprinted by another recipe
	// Switched is false where there was nothing to do, and where that is left to
	// a later call (Unfinished).
	Switched bool    `json:"switched"`
	Resumed  uint32  `json:"resumed,omitempty"` // after this ordinal: it had been interrupted
	Looked   int64   `json:"looked"`            // versions passed this time
	Seconds  float64 `json:"seconds"`
}

// reindexing is a reindex under way.
type reindexing struct {
	cfg    ReindexConfig
	db     *sql.DB // one connection
	goal   int64   // stamps.number of the recipe
	force  overlay // in force
	doing  overlay // being made
	last   uint32  // ordinal of the newest version
	report ReindexReport
}

// Reindex makes the forms of all versions whose text was kept anew, and then,
// by one transaction, has later articles compared with those. Nothing else
// changes: what was judged, decided and published stays. Versions without a kept
// text keep the form that they have. Nobody else may write meanwhile,
// but for Prepare.
//
// Until the switch the catalogue answers by the forms that were in force. A
// Reindex that was ended in any way goes on where it was when it is called
// again, unless another recipe is wanted then; one that is done does nothing.
//
// The next Open derives what is resident anew; a Snapshot then keeps it.
func Reindex(ctx context.Context, cfg ReindexConfig) (report *ReindexReport, err error) {
	cfg.defaults()
	start := time.Now()
	path := filepath.Join(cfg.Dir, FileName)
	db, err := sqlite.Open(path, sqlite.Writes, "FULL")
	if err != nil {
		return nil, err
	}
	db.SetMaxOpenConns(1)
	defer func() { err = errors.Join(err, db.Close()) }()
	bring := migrate
	if cfg.Prepare {
		bring = current
	}
	if err := bring(ctx, db); err != nil {
		return nil, fmt.Errorf("index: %s: %w", path, err)
	}
	r := &reindexing{cfg: cfg, db: db}
	for _, step := range []func(context.Context) error{r.begin, r.fill, r.end} {
		if err := step(ctx); err != nil {
			return nil, fmt.Errorf("index: reindex: %w", err)
		}
	}
	r.report.Recipe, r.report.Seconds = cfg.Recipe, time.Since(start).Seconds()
	r.report.Through, r.report.Items = r.doing.Through, r.doing.Items
	r.report.Changed, r.report.WithoutText, r.report.Failed = r.doing.Changed, r.doing.WithoutText, r.doing.Failed
	return &r.report, nil
}

func (c *ReindexConfig) defaults() {
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

// begin finds out where to go on, and makes room.
func (r *reindexing) begin(ctx context.Context) (err error) {
	if r.goal, err = stampOf(ctx, r.db, r.cfg.Recipe); err != nil {
		return err
	}
	if r.force, err = overlayAt(ctx, r.db, overlayKey); err != nil {
		return err
	}
	if r.doing, err = overlayAt(ctx, r.db, reindexKey); err != nil {
		return err
	}
	if err := r.db.QueryRowContext(ctx, `SELECT coalesce(max(ordinal), 0) FROM items`).Scan(&r.last); err != nil {
		return err
	}
	if r.doing.Recipe == r.goal {
		r.report.Resumed = r.doing.Through
	} else {
		// Its mark goes before its rows: half of them must not look like all.
		if _, err := r.db.ExecContext(ctx, `DELETE FROM meta WHERE key = ?`, reindexKey); err != nil {
			return err
		}
		if r.doing = (overlay{Recipe: r.goal}); r.force.Recipe == r.goal {
			r.doing = r.force // versions newer than it may be of another recipe
		}
	}
	return r.clean(ctx)
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
func (r *reindexing) clean(ctx context.Context) error {
	in := func(recipe int64) (from, to int64) { return recipe << 32, recipe<<32 | 0xffffffff }
	f1, t1 := in(r.force.Recipe)
	f2, t2 := in(r.doing.Recipe)
	for {
		done, err := r.db.ExecContext(ctx, `DELETE FROM overlay WHERE place IN (SELECT place FROM overlay
			WHERE place NOT BETWEEN ? AND ? AND place NOT BETWEEN ? AND ? LIMIT ?)`, f1, t1, f2, t2, cleanStep)
		if err != nil {
			return err
		}
		if n, err := done.RowsAffected(); err != nil || n == 0 {
			return err
		}
		if err := r.cfg.Fail("clean"); err != nil {
			return err
		}
	}
}

// kept is a version as a reindex reads it.
type kept struct {
	ordinal   uint32
	recipe    int64
	title     string
	published sql.NullInt64
	own       form
	packed    []byte // nil: not kept

	made    form
	changed bool
	failed  error
}

// batchBytes bounds the packed texts of a batch.
const batchBytes = 16 << 20

// keptQuery leaves the texts of versions alone that are of the recipe.
const keptQuery = `SELECT i.ordinal, i.recipe, i.title, i.published_at, i.exact, i.fingerprint, i.sketch, t.body
	FROM items i LEFT JOIN texts t ON t.ordinal = i.ordinal AND i.recipe != ?
	WHERE i.ordinal > ? ORDER BY i.ordinal LIMIT ?`

// readKept reads the next versions after an ordinal.
func readKept(ctx context.Context, db *sql.DB, goal int64, after uint32, limit int) ([]kept, error) {
	var batch []kept
	size := 0
	err := each(ctx, db, keptQuery, func(rows *sql.Rows) error {
		var k kept
		err := rows.Scan(&k.ordinal, &k.recipe, &k.title, &k.published, &k.own.exact, &k.own.fingerprint, &k.own.sketch, &k.packed)
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
func (c *ReindexConfig) analyze(ctx context.Context, batch []kept) error {
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

// analyze makes the form of a text. One that cannot be worked on must not hold
// up all others.
func (k *kept) analyze(f func(title, body string, published time.Time) *Article) (err error) {
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
		k.changed = k.own.exact != nil
		return nil
	}
	k.made = form{exact: bytes.Clone(a.Exact[:]), fingerprint: int64(a.Print.Fingerprint), sketch: a.Sketch.AppendBinary(nil)}
	k.changed = k.made.fingerprint != k.own.fingerprint || !bytes.Equal(k.made.exact, k.own.exact) || !bytes.Equal(k.made.sketch, k.own.sketch)
	return nil
}

// count adds what became of a version to an overlay.
func (o *overlay) count(k *kept, goal int64) {
	o.Through = k.ordinal
	if k.recipe == goal {
		return
	}
	o.Items++
	switch {
	case k.packed == nil && k.own.exact != nil:
		o.WithoutText++
	case k.failed != nil:
		o.Failed++
	case k.changed:
		o.Changed++
	}
}

// fill makes the rows of all versions after doing.Through.
func (r *reindexing) fill(ctx context.Context) error {
	for {
		batch, err := readKept(ctx, r.db, r.goal, r.doing.Through, r.cfg.Batch)
		if err != nil || len(batch) == 0 {
			return err
		}
		if err := r.cfg.analyze(ctx, batch); err != nil {
			return err
		}
		if err := r.write(ctx, batch); err != nil {
			return err
		}
		r.report.Looked += int64(len(batch))
		r.cfg.Progress(int64(r.doing.Through), int64(r.last))
	}
}

// write adds a batch's rows, and says so, in one transaction.
func (r *reindexing) write(ctx context.Context, batch []kept) error {
	next := r.doing
	err := r.transaction(ctx, func(tx *sql.Tx) error {
		insert, err := tx.PrepareContext(ctx, `INSERT OR REPLACE INTO overlay (place, exact, fingerprint, sketch) VALUES (?, ?, ?, ?)`)
		if err != nil {
			return err
		}
		defer insert.Close()
		for i := range batch {
			k := &batch[i]
			next.count(k, r.goal)
			if k.failed != nil {
				r.cfg.Logger.WarnContext(ctx, "a kept text cannot be worked on: its item keeps its fingerprint", "ordinal", k.ordinal, "error", k.failed)
				continue
			}
			if !k.changed {
				continue
			}
			if _, err := insert.ExecContext(ctx, next.place(k.ordinal), k.made.exact, k.made.fingerprint, k.made.sketch); err != nil {
				return fmt.Errorf("ordinal %d: %w", k.ordinal, err)
			}
		}
		return setOverlay(ctx, tx, reindexKey, next)
	})
	if err == nil {
		r.doing = next
	}
	return err
}

// end makes the rows those in force.
func (r *reindexing) end(ctx context.Context) error {
	nothing := r.force.Recipe == 0 && r.doing.Items == 0 || r.force.Recipe == r.goal && r.doing.Items == r.force.Items
	if nothing {
		if r.force.Recipe == 0 {
			r.doing.Recipe = 0
		} else {
			r.doing = r.force
		}
		_, err := r.db.ExecContext(ctx, `DELETE FROM meta WHERE key = ?`, reindexKey)
		return err
	}
	if r.cfg.Prepare {
		r.report.Unfinished = true
		return nil
	}
	if err := sqlite.Remove(filepath.Join(r.cfg.Dir, WordsFileName)); err != nil {
		return err
	}
	err := r.transaction(ctx, func(tx *sql.Tx) error {
		if _, err := tx.ExecContext(ctx, `DELETE FROM meta WHERE key = ?`, reindexKey); err != nil {
			return err
		}
		return setOverlay(ctx, tx, overlayKey, r.doing)
	})
	if err != nil {
		return err
	}
	r.report.Switched = true
	r.force = r.doing
	if err := r.cfg.Fail("switched"); err != nil {
		return err
	}
	// It is of the forms before.
	return errors.Join(sqlite.Remove(filepath.Join(r.cfg.Dir, SnapshotFileName)), r.clean(ctx))
}

func setOverlay(ctx context.Context, tx *sql.Tx, key string, o overlay) error {
	text, err := json.Marshal(o)
	if err != nil {
		return err
	}
	_, err = tx.ExecContext(ctx, `INSERT INTO meta (key, value) VALUES (?, ?) ON CONFLICT (key) DO UPDATE SET value = excluded.value`, key, string(text))
	return err
}

func (r *reindexing) transaction(ctx context.Context, f func(*sql.Tx) error) error {
	tx, err := r.db.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer func() { _ = tx.Rollback() }() // nothing to do after a commit
	if err := f(tx); err != nil {
		return err
	}
	if err := r.cfg.Fail("commit"); err != nil {
		return err
	}
	return tx.Commit()
}
