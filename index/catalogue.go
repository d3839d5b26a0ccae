package index

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"golang.org/x/time/rate"

	"jianguo/compare"
	"jianguo/compare/reason"
	"jianguo/index/match"
	"jianguo/index/reindex"
	"jianguo/index/resident"
	"jianguo/index/sources"
	"jianguo/internal/datadir"
	"jianguo/internal/must"
)

// FileName is the catalogue's file inside the data directory.
const FileName = datadir.Catalogue

// pageSize is that of a new catalogue. Rows of 250 bytes and texts of 1,500 leave less of it unused than of 4096,
// SQLite's default.
const pageSize = 8192

// ErrClosed says that the Index has been closed.
var ErrClosed = errors.New("index is closed")

// Config configures an Index. Dir is required.
type Config struct {
	Dir    string  // the data directory; created if missing
	Policy *Policy // recorded in the directory; nil: the recorded one, of a new directory DefaultPolicy
	// Recorded is for a policy that a new directory gets, while any other one keeps the recorded one.
	Recorded bool
	// Copy says that the directory is a copy to try a policy on: that it is another one is not logged.
	Copy bool
	// Offline writes nothing: for commands that read, while no service runs. Add must not be called.
	Offline bool
	// Recipe returns the hash of the recipe that makes fingerprints (segment's
	// Recipe). Open calls it after it has loaded the index, so that both can load
	// in parallel. nil: the empty recipe.
	Recipe func() (string, error)
	// Normal makes the normal form of a kept text, Original what is quoted of it; nil: the body is both. They are
	// called from several goroutines, after Recipe.
	Normal   func(title, body string) compare.Text
	Original func(title, body string) *reason.Original
	Language string // of Event.Why; empty: Chinese
	// Relaxed leaves syncing to the operating system: a power failure may lose the last
	// batches, a killed process loses nothing. Without it a batch has been fsynced when Add returns.
	Relaxed bool
	// SnapshotEvery is the least number of events between two snapshots in the
	// background. 0: 200,000.
	SnapshotEvery int64
	// SweepEvery is the time between two sweeps of expired exemplars, in the time
	// of the stream. 0: a 64th of the window; below: never.
	SweepEvery time.Duration
	// Clock bounds the time of the stream, so that nothing is swept because of messages with
	// a wrong time. nil: no bound.
	Clock   func() time.Time
	Logger  *slog.Logger
	Metrics prometheus.Registerer // nil: they are not shown
	// Progress, if set, is called with the progress of a long start.
	Progress func(stage string, done, total int64)
	// Fail, if set, is called at named points of a batch. An error that it returns
	// fails the batch there. For tests.
	Fail func(point string) error
}

// catalogue holds the state that the writer and the readers of an Index share.
type catalogue struct {
	cfg    Config
	policy Policy
	log    *slog.Logger

	writer      *sql.DB // has one connection, which is conn
	reader      *sql.DB // read-only connections, of all that does not judge
	judgeReader *sql.DB // read-only connections, of checks and of what is compared ahead

	// writeMu serialises the writers. It guards closed, conn, inBatch and next*.
	writeMu     sync.Mutex
	closed      bool
	conn        *sql.Conn    // nil: not open yet
	inBatch     match.Reader // on conn: it sees the batch that is being applied
	nextOrdinal uint32
	nextEvent   uint64
	stampHashes sync.Map // stamps.number -> hash

	// mu guards the fields below; writers hold both locks to change them.
	mu      sync.RWMutex
	applied uint64
	logged  uint64 // when the bus stored the last message applied, in ns since 1970; 0: not known
	events  uint64
	stream  stream

	recipe   atomic.Pointer[recipeInForce] // changed under writeMu
	tables   resident.Tables
	clusters resident.Clusters

	policies    atomic.Pointer[map[string]SourcePolicy] // in force, by source; the map does not change
	boilerplate sources.Boilerplate

	matcher *match.Matcher
	levels  map[string]*level // by strictness; "": the policy in force

	identity      int64 // of the catalogue
	snapshot      *resident.Snapshot
	snapshotting  atomic.Bool // one is under way in the background
	sweeping      atomic.Bool // likewise
	sweptAt       uint32      // arrival of the last message before the last sweep; guarded by writeMu
	ending        context.Context
	end           context.CancelFunc // of ending, by Close
	snapshotEvent atomic.Int64       // number of the last event in the last snapshot
	background    sync.WaitGroup
	outlined      chan struct{} // closed when the outlines of all versions before the start have been read

	flood flood

	metrics *metrics
	rate    *rate.Limiter // of messages applied; full: few are
}

// level is a policy that articles are judged by: that of the service, or the same with the
// strictness of a source.
type level struct {
	policy Policy
	stamp  int64 // stamps.number
	*match.Matcher
}

// stream identifies the ITEMS stream that applied sequences come from.
type stream struct {
	Identity string
	Base     uint64 // applied sequence = Base + stream sequence
}

// Applied returns the applied sequence of the last message and the number of
// the last event.
func (x *catalogue) Applied() (seq, event uint64) {
	x.mu.RLock()
	defer x.mu.RUnlock()
	return x.applied, x.events
}

// transaction runs f, which may panic (must), in a transaction on the writer's connection. Guarded by Index.writeMu.
func (x *catalogue) transaction(ctx context.Context, f func()) error {
	if x.closed {
		return ErrClosed
	}
	// A batch that has begun always ends: the caller's context must not cancel it.
	ctx = context.WithoutCancel(ctx)
	if _, err := x.conn.ExecContext(ctx, `BEGIN IMMEDIATE`); err != nil {
		return fmt.Errorf("begin: %w", err)
	}
	err := must.Catch(f)
	if err == nil {
		err = x.cfg.Fail("commit")
	}
	if err == nil {
		if _, err = x.conn.ExecContext(ctx, `COMMIT`); err == nil {
			return nil
		}
		err = fmt.Errorf("commit: %w", err)
	}
	if _, rerr := x.conn.ExecContext(ctx, `ROLLBACK`); rerr != nil {
		// On some errors (disk full) SQLite ends the transaction itself. ROLLBACK
		// then fails because there is no transaction.
		x.log.DebugContext(ctx, "rollback", "error", rerr)
	}
	return err
}

// recipeInForce says by which forms versions are compared.
type recipeInForce struct {
	overlay      reindex.Overlay
	hash         string // of the recipe of new versions
	stamp        int64  // stamps.number of hash
	match.Reader        // on judgeReader: it sees what is committed
}

// stamp stores the recipe and the policies in force, and numbers them. Only what has been committed refers to a number.
func (x *catalogue) stamp(ctx context.Context, recipe string) (number int64, err error) {
	store := func(kind, hash, detail string) (n int64) {
		_, err := x.conn.ExecContext(ctx, `INSERT OR IGNORE INTO stamps (kind, hash, detail) VALUES (?, ?, ?)`,
			kind, hash, detail)
		must.Dof(err, "stamp %s %s", kind, hash)
		const query = `SELECT number FROM stamps WHERE kind = ? AND hash = ?`
		must.Do(x.conn.QueryRowContext(ctx, query, kind, hash).Scan(&n))
		x.stampHashes.Store(n, hash)
		return n
	}
	err = x.transaction(ctx, func() {
		number = store("recipe", recipe, "")
		for _, l := range x.levels {
			if l.stamp == 0 { // else checks may be reading it
				l.stamp = store("policy", l.policy.Hash(), l.policy.Detail())
			}
		}
		x.record(ctx)
	})
	return number, err
}

func (x *catalogue) stampHash(number int64) string {
	hash, _ := x.stampHashes.Load(number)
	text, _ := hash.(string)
	return text
}

// setMeta is for use inside of a transaction.
func (x *catalogue) setMeta(ctx context.Context, key, value string) {
	_, err := x.conn.ExecContext(ctx, `INSERT INTO meta (key, value) VALUES (?,?)
		ON CONFLICT (key) DO UPDATE SET value = excluded.value`, key, value)
	must.Dof(err, "meta %s", key)
}

// setTables replaces the resident tables of versions.
func (x *catalogue) setTables(t resident.Tables) {
	x.tables = t
	x.matcher = match.New(x.policy, match.Config{Tables: t, Clusters: &x.clusters, Normal: x.cfg.Normal,
		Original: x.cfg.Original, Boilerplate: &x.boilerplate, Metrics: x.cfg.Metrics})
	for _, l := range x.levels {
		l.Matcher = x.matcher.WithPolicy(l.policy)
	}
}

// mark returns the end of the catalogue. Guarded by writeMu.
func (x *catalogue) mark() resident.Mark {
	return resident.Mark{Ordinal: int64(x.nextOrdinal) - 1, Event: int64(x.nextEvent) - 1}
}

// bounded returns a time of the stream, or Config.Clock's if that is earlier.
func (x *catalogue) bounded(at uint32) uint32 {
	if x.cfg.Clock == nil {
		return at
	}
	return min(at, seconds(x.cfg.Clock()))
}

func millis(t time.Time) int64 {
	if t.IsZero() {
		return 0
	}
	return t.UnixMilli()
}

func seconds(t time.Time) uint32 { return uint32(max(t.Unix(), 0)) }
