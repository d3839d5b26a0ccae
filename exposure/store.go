package exposure

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"jianguo/exposure/wire"
)

// Durability is what an answered report has survived.
type Durability uint8

const (
	// Synced: an answered report survives a power cut. It takes a log that
	// syncs before it acknowledges.
	Synced Durability = iota
	// Relaxed: an answered report survives the end of the process, not
	// necessarily that of the machine.
	Relaxed
)

// Config is what a store is opened with. Path and Log are required; every other zero
// value is usable.
type Config struct {
	Path string // the state file (SQLite)
	Log  Log    // where events go and come from

	Policies map[string]Policy // by history; "" is the default history
	Scenes   map[string]string // scene -> history; a scene not listed is in ""
	Location *time.Location    // of days and months; nil: Asia/Shanghai
	Clock    func() time.Time  // nil: time.Now

	MaxUnflushed int           // keys of events applied but not in the file (default 262,144); past it the log waits
	FlushAge     time.Duration // age of the oldest of them (default 10 s)
	CacheBytes   int64         // memory for users (default 256 MiB)
	SweepRate    int           // rows a second checked for expiry (default 2,000; negative: never)
	SweepRest    time.Duration // between two walks over the file (default a minute)
	HealAfter    time.Duration // from a failure to the first try to resume (default 1 s)
	Durability   Durability
	FailClosed   bool // a filter that cannot be computed returns nothing instead of everything

	// Dead keeps an entry that can never be applied; user is "" where it cannot be read.
	// The entry counts as applied once Dead has returned nil. Until then it is called
	// again, and all later entries wait. nil: logged only.
	Dead func(ctx context.Context, e Entry, user string, reason error) error
	// Forgotten removes what is kept of a user elsewhere, such as dead letters. It is
	// called like Dead, before a forget counts as applied.
	Forgotten func(ctx context.Context, user string) error
	// Fail is called at named points (flush-begin, flush-write, flush-commit,
	// flush-committed, appended); an error fails there. For tests.
	Fail   func(point string) error
	Rand   io.Reader    // for the secret of a new file; nil: crypto/rand
	Logger *slog.Logger // nil: slog.Default
}

// Store holds every user's exposures. All methods may be called from any goroutine.
type Store struct {
	cfg      Config
	policies map[string]*Policy
	secret   [32]byte
	db       *database
	metrics  *metrics
	popular  popular
	cache    atomic.Pointer[[stripes]stripe]

	lastShard atomic.Int64
	applied   atomic.Uint64 // last sequence applied
	flushed   atomic.Uint64 // last sequence in the file
	unflushed atomic.Int64  // keys of the events between the two
	oldest    atomic.Int64  // unix nanoseconds when the oldest of them was applied, 0 for none
	ready     atomic.Bool
	readyCh   chan struct{} // closed by readyOnce, when first ready
	readyOnce sync.Once
	failed    atomic.Pointer[error]

	applyMu sync.Mutex
	gen     uint64     // applyMu; number of the next flush
	dirty   []*entry   // applyMu; entries due in it, each pinned
	event   wire.Query // applyMu; the event being applied
	keys    []uint32   // applyMu; its keys
	// applyMu; users forgotten since the last flush, whose quarantined rows go too
	forgotten []string

	flushMu sync.Mutex // one flush at a time
	kick    chan struct{}
	roomMu  sync.Mutex
	room    chan struct{} // roomMu; closed and replaced when a flush has made room

	waitMu  sync.Mutex
	waiters map[uint64][]chan struct{} // waitMu; by sequence
	refused map[uint64]error           // waitMu; outcome of recent events that were refused

	stop context.CancelFunc // of the loops; written while none runs
	done sync.WaitGroup     // of the loops

	broke     chan struct{} // the store has failed
	endHealer context.CancelFunc
	healer    sync.WaitGroup
}

// shanghai is the default zone, fixed rather than looked up: a machine without a
// zone database would otherwise put month ends elsewhere.
var shanghai = time.FixedZone("Asia/Shanghai", 8*3600)

// Open opens the state file, which it creates if there is none, and starts applying the log.
// The store answers at once but is Ready only when it has applied everything the
// log held at this moment.
func Open(ctx context.Context, cfg Config) (*Store, error) {
	if cfg.Path == "" || cfg.Log == nil {
		return nil, errors.New("exposure: Config needs Path and Log")
	}
	setDefaults(&cfg)
	s := &Store{
		cfg: cfg, policies: map[string]*Policy{}, metrics: newMetrics(), gen: 1,
		readyCh: make(chan struct{}), kick: make(chan struct{}, 1), room: make(chan struct{}),
		waiters: map[uint64][]chan struct{}{}, refused: map[uint64]error{}, broke: make(chan struct{}, 1),
	}
	for _, h := range cfg.Scenes {
		s.policies[h] = nil
	}
	s.policies[""] = nil
	for h := range s.policies {
		p, err := cfg.Policies[h].withDefaults()
		if err != nil {
			return nil, fmt.Errorf("history %q: %w", h, err)
		}
		s.policies[h] = &p
	}
	s.cache.Store(newCache(cfg.CacheBytes))
	var err error
	if s.db, err = openDatabase(ctx, cfg.Path, cfg.Durability, cfg.Rand); err != nil {
		return nil, err
	}
	if err := s.popular.load(cfg.Path + PopularSuffix); err != nil {
		cfg.Logger.Warn("exposure: counts of popular items start again from zero", "err", err)
	}
	last, err := s.recover(ctx)
	if err != nil {
		s.db.close()
		return nil, err
	}
	s.start(last)
	healing, end := context.WithCancel(context.Background())
	s.endHealer = end
	s.healer.Go(func() { s.heal(healing) })
	return s, nil
}

func setDefaults(cfg *Config) {
	if cfg.Location == nil {
		cfg.Location = shanghai
	}
	if cfg.Clock == nil {
		cfg.Clock = time.Now
	}
	if cfg.MaxUnflushed <= 0 {
		cfg.MaxUnflushed = 1 << 18
	}
	if cfg.FlushAge <= 0 {
		cfg.FlushAge = 10 * time.Second
	}
	if cfg.CacheBytes <= 0 {
		cfg.CacheBytes = 256 << 20
	}
	if cfg.SweepRate == 0 {
		cfg.SweepRate = 2000
	}
	if cfg.SweepRest <= 0 {
		cfg.SweepRest = time.Minute
	}
	if cfg.HealAfter <= 0 {
		cfg.HealAfter = time.Second
	}
	if cfg.Fail == nil {
		cfg.Fail = func(string) error { return nil }
	}
	if cfg.Logger == nil {
		cfg.Logger = slog.Default()
	}
}

// recover finds where in the log to resume, and the last entry to wait for.
func (s *Store) recover(ctx context.Context) (last uint64, err error) {
	secret, logID, applied, lastShard, err := s.db.recover(ctx)
	if err != nil {
		return 0, err
	}
	log, err := s.cfg.Log.State(ctx)
	if err != nil {
		return 0, err
	}
	if s.secret != secret { // requests may be reading it: written once
		s.secret = secret
	}
	s.lastShard.Store(lastShard)
	from := applied
	switch {
	case logID != log.ID:
		// A new log: its sequences start again, and none of its events is known.
		from = 0
	case log.Last < applied:
		// The log lost its end, as a relaxed one may in a power cut. The file keeps
		// what it has; the log will use those sequences again.
		from = log.Last
	}
	if logID != "" && from != applied {
		s.cfg.Logger.Warn("exposure: the log is not where the state file left it",
			"applied", applied, "log_last", log.Last, "same_log", logID == log.ID)
	}
	if from+1 < log.First && logID == log.ID {
		s.cfg.Logger.Error("exposure: the log has forgotten events that were not applied",
			"applied", applied, "log_first", log.First, "lost", log.First-from-1)
	}
	if from != applied || logID != log.ID {
		if err := s.db.setApplied(ctx, log.ID, from); err != nil {
			return 0, err
		}
	}
	s.applied.Store(from)
	s.flushed.Store(from)
	return log.Last, nil
}

func (s *Store) start(last uint64) {
	ctx, cancel := context.WithCancel(context.Background())
	s.stop = cancel
	if s.applied.Load() >= last {
		s.setReady()
	}
	s.done.Go(func() {
		err := s.cfg.Log.Consume(ctx, s.applied.Load(), func(e Entry) error {
			if err := s.waitRoom(ctx); err != nil {
				return err
			}
			err := s.apply(ctx, e)
			if e.Seq >= last && err == nil {
				s.setReady()
			}
			return err
		})
		if err != nil && ctx.Err() == nil {
			s.fail(fmt.Errorf("exposure: consume: %w", err))
		}
	})
	s.done.Go(func() { s.flushLoop(ctx) })
	s.done.Go(func() { s.sweepLoop(ctx) })
	s.done.Go(func() { s.rateLoop(ctx) })
	s.done.Go(func() { s.popularLoop(ctx) })
}

func (s *Store) setReady() {
	s.ready.Store(true)
	if s.Err() != nil { // failed meanwhile
		s.ready.Store(false)
	}
	s.readyOnce.Do(func() { close(s.readyCh) })
}

// fail stops the store until heal has resumed it: after an error of the disk, what is in
// memory may differ from what reached the file.
func (s *Store) fail(err error) {
	if s.failed.CompareAndSwap(nil, &err) {
		s.cfg.Logger.Error("exposure: store failed; what was reported since its last flush will be read from the log again", "err", err)
		s.ready.Store(false)
		s.stop()
		s.wakeAll()
		select {
		case s.broke <- struct{}{}:
		default:
		}
	}
}

// maxHealWait is the longest time between two tries to resume.
const maxHealWait = time.Minute

// heal resumes after a failure as a start would: from the file, and from the events that the
// log holds since.
func (s *Store) heal(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-s.broke:
		}
		s.done.Wait() // for the loops, which fail has stopped
		wait := s.cfg.HealAfter
		for err := s.Err(); err != nil; wait = min(2*wait, max(maxHealWait, s.cfg.HealAfter)) {
			select {
			case <-ctx.Done():
				return
			case <-time.After(wait):
			}
			if err = s.resume(ctx); err != nil {
				s.cfg.Logger.Error("exposure: the store cannot go on yet", "err", err)
			}
		}
	}
}

// resume drops all that is in memory and starts from the file. The loops have ended. Requests
// that are running keep their entries, which are no longer in the cache. Events that are read
// again count twice among the popular items.
func (s *Store) resume(ctx context.Context) error {
	s.flushMu.Lock()
	defer s.flushMu.Unlock()
	s.applyMu.Lock()
	defer s.applyMu.Unlock()
	last, err := s.recover(ctx)
	if err != nil {
		return err
	}
	s.cache.Store(newCache(s.cfg.CacheBytes))
	s.dirty, s.forgotten = nil, nil
	s.gen++
	s.unflushed.Store(0)
	s.oldest.Store(0)
	s.waitMu.Lock()
	clear(s.refused) // they will be refused again
	s.waitMu.Unlock()
	s.failed.Store(nil)
	s.start(last)
	s.cfg.Logger.Warn("exposure: the store goes on", "applied", s.flushed.Load(), "log_last", last)
	return nil
}

// Err is the error that stopped the store, or nil.
func (s *Store) Err() error {
	if p := s.failed.Load(); p != nil {
		return *p
	}
	return nil
}

// Ready says whether everything logged before Open has been applied, and nothing has
// failed since.
func (s *Store) Ready() bool { return s.ready.Load() && s.Err() == nil }

// WaitReady waits for Ready.
func (s *Store) WaitReady(ctx context.Context) error {
	select {
	case <-s.readyCh:
		return s.Err()
	case <-ctx.Done():
		return ctx.Err()
	}
}

// Close stops consuming, writes what is unflushed, and closes the file.
func (s *Store) Close() error {
	s.endHealer()
	s.healer.Wait()
	err := ErrClosed
	if !s.failed.CompareAndSwap(nil, &err) && errors.Is(s.Err(), ErrClosed) {
		return nil
	}
	failed := s.Err()
	s.ready.Store(false)
	s.stop()
	s.wakeAll()
	s.done.Wait()
	var flushErr error
	if errors.Is(failed, ErrClosed) {
		flushErr = s.flush(context.Background())
	}
	return errors.Join(flushErr, s.db.close(), s.popular.save(s.cfg.Path+PopularSuffix, s.cfg.Clock()))
}
