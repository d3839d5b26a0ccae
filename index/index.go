package index

import (
	"context"
	"database/sql"
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/pressly/goose/v3"
	"github.com/pressly/goose/v3/database"

	"jianguo/index/bands"
	"jianguo/index/lookup"
	"jianguo/index/match"
	"jianguo/index/resident"
	"jianguo/index/sqlite"
	"jianguo/sketch"
)

// FileName is the catalogue's file inside the data directory.
const FileName = "index.db"

// Durability says what a returned Add means.
type Durability string

// The durabilities.
const (
	// DurabilitySynced: the batch has been fsynced.
	DurabilitySynced Durability = "synced"
	// DurabilityRelaxed: the operating system has it; a power failure may take
	// the last batches, a killed process does not.
	DurabilityRelaxed Durability = "relaxed"
)

// ErrClosed says that the Index has been closed.
var ErrClosed = errors.New("index is closed")

// Config configures an Index. Dir is required.
type Config struct {
	Dir    string  // the data directory; created if missing
	Policy *Policy // nil: DefaultPolicy
	// Recipe returns the hash of what makes the fingerprints (segment's
	// Recipe). It is asked after loading, so that both can load at once; nil:
	// the empty recipe.
	Recipe func() (string, error)
	// Normal makes the normal form of a kept text, for judging on texts; nil:
	// on sketches only. It is called from several goroutines, after Recipe.
	Normal     func(title, body string) sketch.Input
	Language   string     // of Event.Why; empty: Chinese
	Durability Durability // empty: synced
	// SnapshotEvery is the least number of events between two snapshots in the
	// background. 0: 200,000.
	SnapshotEvery int64
	// SweepEvery is how much time of the stream passes between two sweeps of
	// exemplars whose time is over. 0: a 64th of the window; below: never.
	SweepEvery time.Duration
	Logger     *slog.Logger
	// Progress is told how far a long start-up has come; nil: nobody asks.
	Progress func(stage string, done, total int64)
	// Fail, where set, is called at named points of a batch; an error it
	// returns fails the batch there. For tests.
	Fail func(point string) error
}

// Index is the catalogue and what is resident of it. Add and Decide are
// serialised by a lock; all other methods may run beside them and each other.
type Index struct {
	cfg    Config
	policy Policy
	recipe string
	log    *slog.Logger

	writer *sql.DB // one connection
	reader *sql.DB // many, read-only, mapped
	judges *sql.DB // many, read-only
	side   readers // on judges

	decided chan struct{} // sent to by Decide; never closed

	// write serialises the writers. It guards closed, w, next*, sources and trusting.
	write       sync.Mutex
	closed      bool
	w           *statements
	nextOrdinal uint32
	nextEvent   uint64
	nextStamp   map[string]int64 // kind+hash -> stamps.number
	stampHashes map[int64]string // the inverse; not changed after Open
	sources     map[string]int64
	recipeStamp int64
	policyStamp int64
	trusting    bool // only equal forms are copies: see Probe.Insert

	// state guards what follows; writers change it under both locks.
	state   sync.RWMutex
	applied uint64
	events  uint64
	stream  stream

	overlay  overlay // what versions are compared by; not changed after Open
	rows     *resident.Rows
	bands    *bands.Bands
	ids      *lookup.Map // xxh3(id) -> ordinals of its versions
	exacts   *lookup.Map // first half of Exact -> ordinals
	clusters resident.Clusters

	sourcePolicy atomic.Pointer[map[string]string] // written under write

	matcher *match.Matcher
	recent  recent

	catalogue     int64 // identity, what a snapshot must be of
	snapshot      *resident.Snapshot
	snapshotting  atomic.Bool // one is under way in the background
	sweeping      atomic.Bool // likewise
	sweptAt       uint32      // arrival after which the last sweep began; guarded by write
	ending        context.Context
	end           context.CancelFunc // of ending: Close has begun
	snapshotEvent atomic.Int64       // number of the last event in the last snapshot
	background    sync.WaitGroup
	outlined      chan struct{} // closed once the outlines of what was there at the start are

	metrics *metrics
	rate    rate // of messages applied
}

// stream identifies the ITEMS stream that applied sequences come from.
type stream struct {
	Identity string
	Base     uint64 // applied sequence = Base + stream sequence
}

//go:embed migrations/*.sql
var migrations embed.FS

// Open opens or creates the catalogue in cfg.Dir and makes its postings
// resident. The caller keeps other processes out of the directory.
func Open(ctx context.Context, cfg Config) (*Index, error) {
	if cfg.Dir == "" {
		return nil, errors.New("index: no data directory given")
	}
	if cfg.Policy == nil {
		p := DefaultPolicy()
		cfg.Policy = &p
	}
	if err := cfg.Policy.Validate(); err != nil {
		return nil, err
	}
	if cfg.Language == "" {
		cfg.Language = Chinese
	}
	if cfg.Durability == "" {
		cfg.Durability = DurabilitySynced
	}
	if cfg.SnapshotEvery == 0 {
		cfg.SnapshotEvery = defaultSnapshotEvery
	}
	if cfg.Logger == nil {
		cfg.Logger = slog.New(slog.DiscardHandler)
	}
	if cfg.Progress == nil {
		cfg.Progress = func(string, int64, int64) {}
	}
	if cfg.Fail == nil {
		cfg.Fail = func(string) error { return nil }
	}
	if err := os.MkdirAll(cfg.Dir, 0o750); err != nil {
		return nil, fmt.Errorf("index: %w", err)
	}
	x := &Index{
		cfg:       cfg,
		policy:    *cfg.Policy,
		log:       cfg.Logger,
		snapshot:  resident.NewSnapshot(cfg.Dir, cfg.Logger),
		nextStamp: map[string]int64{},
		sources:   map[string]int64{},
		metrics:   newMetrics(),
		decided:   make(chan struct{}, 1),
	}
	x.setTables(resident.NewTables())
	x.ending, x.end = context.WithCancel(context.Background())
	x.rate.add(time.Now(), 0)
	if err := x.open(ctx); err != nil {
		return nil, errors.Join(err, x.Close())
	}
	return x, nil
}

func (x *Index) open(ctx context.Context) error {
	path := filepath.Join(x.cfg.Dir, FileName)
	synchronous := "FULL"
	if x.cfg.Durability == DurabilityRelaxed {
		synchronous = "NORMAL"
	}
	var err error
	x.writer, err = sqlite.Open(path, sqlite.Writes, synchronous)
	if err != nil {
		return err
	}
	x.writer.SetMaxOpenConns(1)
	if err := migrate(ctx, x.writer); err != nil {
		return fmt.Errorf("index: %s: %w", path, err)
	}
	for _, pool := range []struct {
		db     **sql.DB
		access sqlite.Access
	}{{&x.reader, sqlite.Scans}, {&x.judges, sqlite.Reads}} {
		db, err := sqlite.Open(path, pool.access, synchronous)
		if err != nil {
			return err
		}
		*pool.db = db
		db.SetMaxOpenConns(8)
		db.SetMaxIdleConns(8) // a new one has everything to read anew
	}
	if err := x.load(ctx); err != nil {
		return fmt.Errorf("index: load %s: %w", path, err)
	}
	if x.cfg.Recipe != nil {
		if x.recipe, err = x.cfg.Recipe(); err != nil {
			return fmt.Errorf("index: recipe: %w", err)
		}
	}
	if x.w, err = prepare(ctx, x.writer, x.overlay.compared()); err != nil {
		return fmt.Errorf("index: %w", err)
	}
	if x.side, err = newReaders(ctx, x.judges, x.overlay.compared()); err != nil {
		return fmt.Errorf("index: %w", err)
	}
	if err := x.stamp(ctx); err != nil {
		return fmt.Errorf("index: %w", err)
	}
	if err := x.warnOfRecipe(ctx); err != nil {
		return fmt.Errorf("index: %w", err)
	}
	if err := x.openSources(ctx); err != nil {
		return fmt.Errorf("index: %w", err)
	}
	x.outlineInBackground()
	return nil
}

func provider(db *sql.DB) (*goose.Provider, error) {
	files, err := fs.Sub(migrations, "migrations")
	if err != nil {
		return nil, err
	}
	p, err := goose.NewProvider(database.DialectSQLite3, db, files, goose.WithDisableGlobalRegistry(true))
	if err != nil {
		return nil, fmt.Errorf("migrations: %w", err)
	}
	return p, nil
}

func migrate(ctx context.Context, db *sql.DB) error {
	p, err := provider(db)
	if err != nil {
		return err
	}
	have, know, err := p.GetVersions(ctx)
	if err != nil {
		return fmt.Errorf("migrate: %w", err)
	}
	if have > know {
		return fmt.Errorf("the file has version %d, and this program knows versions up to %d: it was written by a newer jianguo, start that one", have, know)
	}
	if _, err := p.Up(ctx); err != nil {
		return fmt.Errorf("migrate: %w", err)
	}
	return nil
}

// current is an error where the file is not of the newest format: another
// process, which may be of an older version, has it.
func current(ctx context.Context, db *sql.DB) error {
	p, err := provider(db)
	if err != nil {
		return err
	}
	have, know, err := p.GetVersions(ctx)
	if err == nil && have != know {
		err = fmt.Errorf("the file has version %d, and this program writes version %d: start the service with this program first", have, know)
	}
	return err
}

// Close writes what is pending and closes the files. The Index must not be
// used afterwards.
func (x *Index) Close() error {
	var errs []error
	x.write.Lock()
	opened := x.w != nil && !x.closed
	x.closed = true
	x.write.Unlock()
	x.end()
	x.background.Wait()
	if _, last := x.Applied(); opened && x.snapshotWorth(int64(last)) {
		errs = append(errs, x.Snapshot(context.Background()))
	}
	x.write.Lock()
	defer x.write.Unlock()
	if x.w != nil {
		errs = append(errs, x.w.Close())
	}
	for _, db := range []*sql.DB{x.judges, x.reader, x.writer} {
		if db != nil {
			errs = append(errs, db.Close())
		}
	}
	// Their memory is not the garbage collector's. That of versions goes by
	// itself.
	x.bands.Close()
	x.ids.Close()
	x.exacts.Close()
	return errors.Join(errs...)
}

// Policy returns the policy in force.
func (x *Index) Policy() Policy { return x.policy }

// Language returns the language in which events say why.
func (x *Index) Language() string { return x.cfg.Language }

// Recipe returns the recipe that new items are stored with.
func (x *Index) Recipe() string { return x.recipe }

// Applied returns the applied sequence of the last message and the number of
// the last event.
func (x *Index) Applied() (seq, event uint64) {
	x.state.RLock()
	defer x.state.RUnlock()
	return x.applied, x.events
}

// Attach says which stream the next messages come from: its identity (it
// changes when the stream is made anew) and the last sequence it holds.
// Attach returns the base to add to stream sequences. A stream that is new, or
// that ends before what was applied of it (its unsynced end was lost), begins
// a new epoch: its messages are never mistaken for ones applied before.
func (x *Index) Attach(ctx context.Context, identity string, last uint64) (base uint64, err error) {
	x.write.Lock()
	defer x.write.Unlock()
	s := x.stream
	if s.Identity == identity && s.Base+last >= x.applied {
		return s.Base, nil
	}
	next := stream{Identity: identity, Base: x.applied}
	err = x.transaction(ctx, func() error {
		if err := x.w.setMeta(ctx, "stream_identity", next.Identity); err != nil {
			return err
		}
		return x.w.setMeta(ctx, "stream_base", strconv.FormatUint(next.Base, 10))
	})
	if err != nil {
		return 0, fmt.Errorf("index: attach stream %s: %w", identity, err)
	}
	x.state.Lock()
	x.stream = next
	x.state.Unlock()
	x.log.InfoContext(ctx, "new epoch of the item stream", "stream", identity, "base", next.Base)
	return next.Base, nil
}

// stamp gives the recipe and the policy in force their numbers.
func (x *Index) stamp(ctx context.Context) error {
	return x.transaction(ctx, func() (err error) {
		if x.recipeStamp, err = x.stampNumber(ctx, "recipe", x.recipe, ""); err != nil {
			return err
		}
		x.policyStamp, err = x.stampNumber(ctx, "policy", x.policy.Hash(), x.policy.Detail())
		return err
	})
}

func (x *Index) stampNumber(ctx context.Context, kind, hash, detail string) (int64, error) {
	if n, ok := x.nextStamp[kind+hash]; ok {
		return n, nil
	}
	n := int64(len(x.nextStamp) + 1)
	if _, err := x.w.conn.ExecContext(ctx, `INSERT INTO stamps (number, kind, hash, detail) VALUES (?, ?, ?, ?)`, n, kind, hash, detail); err != nil {
		return 0, fmt.Errorf("stamp %s %s: %w", kind, hash, err)
	}
	x.nextStamp[kind+hash], x.stampHashes[n] = n, hash
	return n, nil
}

func millis(t time.Time) int64 {
	if t.IsZero() {
		return 0
	}
	return t.UnixMilli()
}

func seconds(t time.Time) uint32 { return uint32(max(t.Unix(), 0)) }

func (x *Index) stampHash(number int64) string { return x.stampHashes[number] }
