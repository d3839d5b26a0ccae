package index

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"github.com/zeebo/xxh3"
	"golang.org/x/time/rate"

	"jianguo/index/match"
	"jianguo/index/resident"
	"jianguo/index/verdict"
	"jianguo/index/verify"
	"jianguo/internal/must"
	"jianguo/internal/sqlite"
	"jianguo/internal/wrap"
)

// Index is the catalogue with its resident data. A lock serialises Add and Decide.
// All other methods may run concurrently.
type Index struct{ *catalogue }

// Open opens or creates the catalogue in cfg.Dir and loads its postings. The caller
// keeps other processes out of the directory.
func Open(ctx context.Context, cfg Config) (*Index, error) {
	if cfg.Dir == "" {
		return nil, errors.New("index: no data directory given")
	}
	if cfg.Policy != nil {
		if err := cfg.Policy.Validate(); err != nil {
			return nil, err
		}
	}
	cfg.Language, cfg.SnapshotEvery = cmp.Or(cfg.Language, Chinese), cmp.Or(cfg.SnapshotEvery, defaultSnapshotEvery)
	cfg.Logger = cmp.Or(cfg.Logger, slog.New(slog.DiscardHandler))
	if cfg.Progress == nil {
		cfg.Progress = func(string, int64, int64) {}
	}
	if cfg.Fail == nil {
		cfg.Fail = func(string) error { return nil }
	}
	if err := os.MkdirAll(cfg.Dir, 0o750); err != nil {
		return nil, fmt.Errorf("index: %w", err)
	}
	x := &Index{catalogue: &catalogue{
		cfg:      cfg,
		log:      cfg.Logger,
		snapshot: resident.NewSnapshot(cfg.Dir),
		rate:     rate.NewLimiter(busyRate, 2*busyRate),
	}}
	x.metrics = newMetrics(x)
	x.ending, x.end = context.WithCancel(context.Background())
	if err := must.Catch(func() { x.open(ctx) }); err != nil {
		return nil, errors.Join(fmt.Errorf("index: %w", err), x.Close())
	}
	return x, nil
}

func (x *Index) open(ctx context.Context) {
	path := filepath.Join(x.cfg.Dir, FileName)
	synchronous := "FULL"
	if x.cfg.Relaxed {
		synchronous = "NORMAL"
	}
	x.openWriter(ctx, path, synchronous)
	for _, pool := range []**sql.DB{&x.reader, &x.judgeReader} {
		*pool = must.Get(sqlite.Open(path, sqlite.Reads, synchronous))
		(*pool).SetMaxOpenConns(8)
		(*pool).SetMaxIdleConns(8) // a new connection has an empty cache
	}
	x.policy = *cmp.Or(x.cfg.Policy, new(DefaultPolicy()))
	if was := must.Get(Recorded(ctx, x.reader)); was != nil && (x.cfg.Policy == nil || x.cfg.Recorded) {
		x.policy = was.Now()
	}
	x.levels = map[string]*level{"": {policy: x.policy}}
	for _, s := range verdict.Strictnesses {
		x.levels[s] = &level{policy: x.policy.At(s)}
	}
	loads := loader{x.catalogue}
	must.Dof(must.Catch(func() { loads.load(ctx) }), "load %s", path)
	f := *x.recipe.Load()
	if x.cfg.Recipe != nil {
		recipe, err := x.cfg.Recipe()
		must.Dof(err, "recipe")
		f.hash = recipe
	}
	x.conn = must.Get(x.writer.Conn(ctx))
	x.inBatch = match.Reader{DB: x.conn, Compared: f.overlay.Compared()}
	f.Reader = match.Reader{DB: x.judgeReader, Compared: f.overlay.Compared()}
	if !x.cfg.Offline {
		f.stamp = must.Get(x.stamp(ctx, f.hash))
	}
	x.recipe.Store(&f)
	x.matcher.CompareBy(f.overlay.Compared())
	loads.warnOfRecipe(ctx)
	loads.outlineInBackground()
}

// Close writes pending data and closes the files. The Index must not be used
// afterwards.
func (x *Index) Close() error {
	var errs []error
	x.writeMu.Lock()
	opened := x.conn != nil && !x.closed && !x.cfg.Offline
	x.closed = true
	x.writeMu.Unlock()
	x.end()
	x.background.Wait()
	// A snapshot at an orderly end has to save the next start more time than writing it takes.
	if _, n := x.Applied(); opened && int64(n)-x.snapshotEvent.Load() >= max(x.cfg.SnapshotEvery/10, int64(n)/500) {
		errs = append(errs, x.Snapshot(context.Background()))
	}
	x.writeMu.Lock()
	defer x.writeMu.Unlock()
	if x.conn != nil {
		errs = append(errs, x.conn.Close())
	}
	for _, db := range []*sql.DB{x.judgeReader, x.reader, x.writer} {
		if db != nil {
			errs = append(errs, db.Close())
		}
	}
	return errors.Join(errs...)
}

func (x *Index) Policy() Policy { return x.policy }

// PolicyOf returns the policy that articles of a source are judged by: it may have a strictness of its own.
func (x *Index) PolicyOf(source string) Policy { return x.levelOf(source).policy }

// Language returns the language in which events say why.
func (x *Index) Language() string { return x.cfg.Language }

// Recipe returns the recipe that new items are stored with.
func (x *Index) Recipe() string { return x.recipe.Load().hash }

// Attach sets the stream of the next messages: its identity, which changes when the stream is created again. It returns
// the base to add to stream sequences. A new epoch begins if the stream is new, or has lost its end: behind returns the
// sequence of the last message that it still has of those up to a sequence, which was stored at a time in ns since 1970
// (0: not known). Messages after that one differ from all that were applied.
func (x *Index) Attach(ctx context.Context, identity string, behind func(seq, logged uint64) (uint64, error)) (
	base uint64, err error) {
	x.writeMu.Lock()
	defer x.writeMu.Unlock()
	s, last := x.stream, uint64(0)
	if s.Identity == identity {
		last, err = behind(x.applied-s.Base, x.logged)
		if err != nil || s.Base+last == x.applied {
			return s.Base, wrap.Err(err, "index: attach stream %s", identity)
		}
	}
	next := stream{Identity: identity, Base: x.applied - last}
	err = x.transaction(ctx, func() {
		x.setMeta(ctx, "stream_identity", next.Identity)
		x.setMeta(ctx, "stream_base", strconv.FormatUint(next.Base, 10))
	})
	if err != nil {
		return 0, fmt.Errorf("index: attach stream %s: %w", identity, err)
	}
	x.mu.Lock()
	x.stream = next
	x.mu.Unlock()
	x.log.InfoContext(ctx, "new epoch of the item stream", "stream", identity, "base", next.Base)
	return next.Base, nil
}

// Snapshot writes the resident data to the snapshot file. All other methods may run meanwhile.
func (x *Index) Snapshot(ctx context.Context) error { return snapshots{x.catalogue}.Snapshot(ctx) }

// Verify proves the catalogue whole: the file by SQLite's own check, the facts against each other, and what is resident
// against the facts. No batch is applied meanwhile.
func (x *Index) Verify(ctx context.Context) (*verify.Report, error) {
	x.writeMu.Lock()
	defer x.writeMu.Unlock()
	return verify.Run(ctx, verify.Catalogue{
		DB: x.reader, Tables: x.tables, Overlay: x.recipe.Load().overlay, Last: x.nextOrdinal - 1,
		Progress: x.cfg.Progress,
	})
}

// CopyTo writes a compact copy of the catalogue to a new file, also if the file of the
// catalogue has been removed.
func (x *Index) CopyTo(ctx context.Context, path string) error {
	x.writeMu.Lock()
	defer x.writeMu.Unlock()
	return sqlite.CopyTo(ctx, x.conn, path)
}

// Tables is a pool of read-only connections to index.db.
func (x *Index) Tables() *sql.DB { return x.reader }

func (x *Index) Dir() string { return x.cfg.Dir }

// busyRate is from how many mutations a second on an Index is busy.
const busyRate = 100

// Busy reports whether many mutations are applied at the moment; 8 KiB of a text that arrives are one more.
func (x *Index) Busy() bool { return x.rate.Tokens() < busyRate }

// arrived notes that so many mutations, at most those that can be noted, have been applied.
func (x *catalogue) arrived(n int) {
	now := time.Now()
	x.rate.AllowN(now, min(n, int(x.rate.TokensAt(now))))
}

// State returns the current verdict of a version (0: no such version), and whether a
// revision has superseded it.
func (x *Index) State(ordinal uint32) (v Verdict, superseded bool) {
	f := x.tables.Rows.Flags(ordinal)
	return f.Verdict(), f&resident.Superseded != 0
}

// Versions returns the ordinals of the versions of an id. Versions of another id with
// the same hash may be among them.
func (x *Index) Versions(id string) []uint32 { return x.tables.IDs.Get(nil, xxh3.HashString(id)) }

// RecordedCluster returns the last cluster of a version, without following merges.
func (x *Index) RecordedCluster(ordinal uint32) uint32 { return x.tables.Rows.Cluster(ordinal) }

// Lead returns the cluster that a cluster was merged into, or itself, and the lead of
// that cluster; 0: it has none.
func (x *Index) Lead(cluster uint32) (resolved, lead uint32) { return x.clusters.Lead(cluster) }
