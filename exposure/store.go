package exposure

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"jianguo/exposure/eventlog"
	"jianguo/exposure/state"
	"jianguo/exposure/trace"
	"jianguo/internal/clock"
	"jianguo/internal/health"
	"jianguo/internal/must"
	"jianguo/internal/sqlite"
	"jianguo/internal/streams"
)

// Store holds every user's exposures. All methods may be called from any goroutine.
type Store struct {
	*core
	w     *writer
	fleet *fleet // nil: states are in the file

	end   context.CancelFunc // of the loops
	done  sync.WaitGroup     // of the loops
	broke chan struct{}      // the store has failed
}

// popularSuffix follows the name of the state file in the name of the file of the popular
// items.
const popularSuffix = ".popular"

// Open opens the state file, which it creates if there is none, and starts applying the log.
// The store answers at once but is Ready only when it has applied everything the
// log held at this moment.
func Open(ctx context.Context, cfg Config) (*Store, error) {
	if cfg.Path == "" || cfg.Log == nil {
		return nil, errors.New("exposure: Config needs Path and Log")
	}
	cfg.setDefaults()
	s := &Store{core: &core{cfg: cfg}, broke: make(chan struct{}, 1)}
	if err := s.openHistories(); err != nil {
		return nil, err
	}
	s.metrics = newMetrics(s.kinds)
	s.w = &writer{core: s.core, fail: s.fail, gen: 1, kick: make(chan struct{}, 1)}
	s.cache.Store(newCache(cfg.CacheBytes))
	db, err := openDatabase(ctx, cfg.Path, cfg.Relaxed, cfg.Rand)
	if err != nil {
		return nil, err
	}
	s.db = db
	if err := must.Catch(func() { s.open(ctx) }); err != nil {
		return nil, errors.Join(err, db.close())
	}
	return s, nil
}

// open reads what the store held, and begins. It panics on errors (must).
func (s *Store) open(ctx context.Context) {
	if err := s.popular.Load(s.cfg.Path + popularSuffix); err != nil {
		s.cfg.Logger.Warn("exposure: counts of popular items start again from zero", "err", err)
	}
	clock := func() time.Time { return s.cfg.Clock().In(s.cfg.Location) }
	s.Traces = must.Get(trace.Open(ctx, s.db.write, clock, s.cfg.Logger))
	running, end := context.WithCancel(context.Background())
	s.end = end
	if s.cfg.Shared != nil {
		s.openFleet(ctx, running)
	} else {
		if s.cfg.Steady != nil {
			meta := must.Get(FileMeta(ctx, s.db.read))
			if last, err := strconv.ParseInt(meta["clock"], 10, 64); err == nil {
				s.cfg.Steady.Resume(time.Unix(last, 0))
			}
		}
		last := s.findResumePoint(ctx)
		s.done.Go(func() { s.applyLog(running, last) })
	}
	s.done.Go(func() { s.Traces.SaveLoop(running) })
	s.done.Go(func() { s.popular.SaveLoop(running, s.cfg.Path+popularSuffix, s.cfg.Logger) })
}

// openHistories fills in the histories that scenes name.
func (s *core) openHistories() error {
	s.policies, s.keeps = map[string]*state.Policy{}, map[string][]string{}
	s.kinds = slices.Concat(builtinKinds, s.cfg.MoreKinds())
	for _, sc := range append(slices.Collect(maps.Values(s.cfg.Scenes)), Scene{Reads: []string{""}}) {
		for _, h := range sc.all() {
			p, err := s.cfg.Policies[h].WithDefaults()
			if err != nil {
				return fmt.Errorf("history %q: %w", h, err)
			}
			s.policies[h], s.keeps[h] = &p, builtinKinds
			if kinds, ok := s.cfg.Kinds[h]; ok {
				s.keeps[h] = kinds
			}
		}
	}
	return nil
}

// storedHistories takes a step a history, not a user.
const storedHistories = `WITH RECURSIVE h (name) AS (SELECT min(history) FROM user UNION ALL
	SELECT (SELECT min(history) FROM user WHERE history > name) FROM h WHERE name IS NOT NULL)
	SELECT name FROM h WHERE name IS NOT NULL`

// findResumePoint finds where in the log to resume, and the last entry to wait for. It panics on errors (must).
func (s *Store) findResumePoint(ctx context.Context) (last uint64) {
	meta := must.Get(FileMeta(ctx, s.db.read))
	if n := len(meta["secret"]); n != len(s.secret) {
		must.Do(fmt.Errorf("exposure: meta secret has %d bytes: %w", n, ErrCorrupt))
	}
	logID, applied := meta["log"], must.Get(strconv.ParseUint(meta["applied"], 10, 64))
	at := streams.PointOf(applied, meta["logged"])
	var lastShard int64
	row := s.db.read.QueryRowContext(ctx, "SELECT coalesce(max(id), 0) FROM shard")
	must.Dof(row.Scan(&lastShard), "exposure: read the state file")
	s.unlisted = slices.DeleteFunc(must.Get(sqlite.Column[string](ctx, s.db.read, storedHistories)),
		func(history string) bool { return s.policies[history] != nil })
	log := must.Get(s.cfg.Log.State(ctx))
	if string(s.secret[:]) != meta["secret"] { // requests may be reading it: written once
		copy(s.secret[:], meta["secret"])
	}
	s.lastShard.Store(lastShard)
	// A log that lost its end, as a relaxed one may in a power cut, uses those sequences again. The file keeps
	// what it has.
	from := must.Get(s.cfg.Log.Behind(ctx, at))
	if logID != log.ID {
		from = 0 // a new log: its sequences start again, and none of its events is known
	}
	if logID != "" && from != applied {
		s.cfg.Logger.Warn("exposure: the log is not where the state file left it",
			"applied", applied, "log_last", log.Last, "same_log", logID == log.ID)
	}
	if from+1 < log.First {
		if logID == log.ID {
			s.w.lostEvents(from, log.First)
		}
		from = log.First - 1 // the log will not deliver what is before it
	}
	if from != applied || logID != log.ID {
		_, err := s.db.write.ExecContext(ctx, putLog, log.ID, strconv.FormatUint(from, 10))
		must.Dof(err, "exposure: set applied")
	}
	s.w.reset(streams.Point{Seq: from, Logged: at.Logged})
	return log.Last
}

// maxHealWait is the longest time between two tries to resume.
const maxHealWait = time.Minute

// applyLog applies the log until ctx ends. After a failure it resumes as a start would: from the file, and from the
// events that the log holds since.
func (s *Store) applyLog(ctx context.Context, last uint64) {
	for ctx.Err() == nil {
		s.applyUntilFailure(ctx, last)
		pause := s.cfg.HealAfter
		for err := s.Err(); err != nil; pause = min(2*pause, max(maxHealWait, s.cfg.HealAfter)) {
			if clock.Sleep(ctx, pause) != nil {
				return
			}
			if last, err = s.resume(ctx); err != nil {
				s.cfg.Logger.Error("exposure: the store cannot go on yet", "err", err)
			}
		}
	}
}

// applyUntilFailure applies the log until ctx ends, or the store has failed.
func (s *Store) applyUntilFailure(ctx context.Context, last uint64) {
	ctx, stop := context.WithCancel(ctx)
	begin := streams.Point{Seq: s.w.applied.Seq(), Logged: s.w.logged}
	if begin.Seq >= last {
		s.ready.Store(true)
	}
	var loops sync.WaitGroup
	loops.Go(func() {
		err := s.cfg.Log.Consume(ctx, begin, func(e eventlog.Entry) error {
			// A flush takes far longer than the time between two looks.
			for s.w.unflushed.Load() >= int64(s.cfg.MaxUnflushed) {
				if err := clock.Sleep(ctx, time.Millisecond); err != nil {
					return err
				}
			}
			err := s.w.consume(ctx, e)
			if e.Seq >= last && err == nil {
				s.ready.Store(true)
			}
			return err
		})
		if errors.Is(err, eventlog.ErrGone) {
			// What was applied is in no log any more. An error of the flush stops the store.
			_ = s.w.flush(ctx)
		}
		if err != nil && ctx.Err() == nil {
			s.fail(fmt.Errorf("exposure: consume: %w", err))
		}
	})
	loops.Go(func() { s.w.flushLoop(ctx) })
	loops.Go(func() { s.w.sweepLoop(ctx) })
	select {
	case <-ctx.Done():
	case <-s.broke:
	}
	stop()
	loops.Wait()
}

// fail stops the store until it has resumed: after an error of the disk, what is in
// memory may differ from what reached the file.
func (s *Store) fail(err error) {
	if s.failed.First(fmt.Errorf("%w: %w", ErrFailed, err)) {
		s.cfg.Logger.Error("exposure: store failed; reports since its last flush are read again", "err", err)
		s.w.applied.WakeAll()
		s.broke <- struct{}{} // has room: the store has to resume before it can fail again
	}
}

// resume drops all that is in memory, and returns the last entry to wait for after a start from the file. The loops
// have ended. Requests that are running keep their entries, which are no longer in the cache. Events that are read
// again count twice among the popular items.
func (s *Store) resume(ctx context.Context) (last uint64, err error) {
	s.w.flushMu.Lock()
	defer s.w.flushMu.Unlock()
	s.w.applyMu.Lock()
	defer s.w.applyMu.Unlock()
	if last, err = must.Try(func() uint64 { return s.findResumePoint(ctx) }); err != nil {
		return last, err
	}
	s.cache.Store(newCache(s.cfg.CacheBytes))
	s.w.dirty, s.w.forgotten, s.w.lost = nil, nil, nil
	s.w.gen++
	s.ready.Store(false)
	s.failed.Set(nil)
	s.cfg.Logger.Warn("exposure: the store goes on", "applied", s.w.flushed.Load(), "log_last", last)
	return last, nil
}

// Close stops consuming, writes what is unflushed, and closes the file.
func (s *Store) Close() error {
	s.end()
	s.done.Wait()
	if !s.failed.First(ErrClosed) && errors.Is(s.Err(), ErrClosed) {
		return nil
	}
	failed := s.Err()
	s.w.applied.WakeAll()
	var flushErr error
	if s.fleet != nil {
		s.fleet.Acks.Close()
		s.fleet.Redis.Close()
	} else if errors.Is(failed, ErrClosed) {
		flushErr = s.w.flush(context.Background())
	}
	return errors.Join(flushErr, s.db.close(), s.popular.Save(s.cfg.Path+popularSuffix))
}

// Flush writes everything applied so far and returns when it is in the file.
func (s *Store) Flush(ctx context.Context) error {
	if err := s.Err(); err != nil || s.fleet != nil {
		return err // what a shared store has answered is in Redis
	}
	return s.w.flush(ctx)
}

// Popular lists the items that all users together saw most, weighed by age, heaviest first.
func (s *Store) Popular(n int) []PopularItem { return s.popular.Top(n, s.cfg.Clock()) }

// CopyTo writes a compact copy of the state file to a new file, also if the state file has
// been removed. It holds what has been flushed.
func (s *Store) CopyTo(ctx context.Context, path string) error {
	return sqlite.CopyTo(ctx, s.db.write, path)
}

// core is what the writer and the filters share.
type core struct {
	cfg      Config
	policies map[string]*state.Policy // by history
	unlisted []string                 // histories of the file that no scene names any more
	keeps    map[string][]string      // by history, the kinds of reports that it keeps
	kinds    []string                 // of reports
	secret   [32]byte
	db       *database
	metrics  *metrics
	cache    atomic.Pointer[cache]
	Traces   *trace.Traces // of users, for support
	popular  popularCounts

	lastShard atomic.Int64 // row number of the last shard
	ready     atomic.Bool  // everything logged before the start, or the last failure, has been applied
	failed    health.Trouble
}

// Err is the error that stopped the store, or nil.
func (s *core) Err() error { return s.failed.Err() }

// Ready says whether everything logged before Open has been applied, and nothing has
// failed since.
func (s *core) Ready() bool { return s.notReady() == nil }

// notReady is why users' states are not available, or nil.
func (s *core) notReady() error {
	if err := s.Err(); err != nil {
		return err
	}
	if !s.ready.Load() {
		return ErrNotReady
	}
	return nil
}

func (s *core) scene(name string) Scene {
	if sc, ok := s.cfg.Scenes[name]; ok {
		return sc
	}
	return s.cfg.Scenes[""]
}

// entry pins the entry of a user in a history.
func (s *core) entry(history, user string) (c *cache, e *entry, known bool) {
	c = s.cache.Load()
	e, known = c.acquire(state.Address{History: history, User: user}, s.policies[history])
	return c, e, known
}

// load reads the row if it has not been read. The caller holds mu for writing.
func (s *core) load(ctx context.Context, e *entry) error {
	if e.st != nil {
		return nil
	}
	st, err := s.db.load(ctx, e.addr)
	if err == nil {
		e.st, e.hits = st.Adopt(e.pol, s.cfg.Location), 0
	}
	return err
}

// quarantine makes way for events, which cannot stop at a damaged row or shard: the state is replaced by an empty one,
// and the row is set aside by the next flush.
func (s *core) quarantine(e *entry, err error) {
	s.metrics.corrupt.Inc()
	s.cfg.Logger.Error("exposure: unreadable state set aside; the user starts empty", "err", err)
	e.st, e.hits = &state.State{Corrupt: err.Error()}, 0
}

func (s *core) nextShard() int64 { return s.lastShard.Add(1) }
