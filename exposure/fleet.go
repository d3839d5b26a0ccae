package exposure

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"jianguo/exposure/eventlog"
	"jianguo/exposure/redis"
	"jianguo/exposure/state"
	"jianguo/internal/clock"
	"jianguo/internal/health"
	"jianguo/internal/must"
)

// Shared is a store whose states are in a Redis, for several services at once. Each of them answers
// for every user; Owners say which one applies a user's events.
type Shared struct {
	Redis  *redis.Conn
	Owners *redis.Owners
	Acks   *redis.Acks
}

// redisWait bounds a call to Redis. A filter that waits longer is degraded.
const redisWait = time.Second

// fleet is what a store with a Redis has instead of a writer.
type fleet struct {
	*Store
	*Shared
	log *eventlog.NATS

	again   atomic.Pointer[chan struct{}] // closed and replaced when Redis may have lost writes
	changed atomic.Pointer[time.Time]     // when masters have changed; nil: they have not
	lost    atomic.Bool                   // progress of a partition has gone back
	looks   [redis.Partitions]sync.Mutex
	known   [redis.Partitions]redis.Progress // under looks: what this service saw last
	evicts  atomic.Value                     // string: the policy by which Redis drops keys; "": it does not
	trouble health.Trouble                   // why Redis did not answer
	pending [redis.Partitions]atomic.Int64   // events behind the last one applied, of partitions that this service owns
	failing [redis.Partitions]health.Trouble
}

// look returns the progress of a partition, or what it was, and notes that a Redis has lost its data, users' records
// too: progress is gone, or has gone back further than an owner applies again.
func (f *fleet) look(ctx context.Context, part int) (redis.Progress, error) {
	f.looks[part].Lock()
	defer f.looks[part].Unlock()
	ctx, cancel := context.WithTimeout(ctx, redisWait)
	defer cancel()
	at, err := f.Redis.Progress(ctx, part)
	if err != nil {
		return at, err
	}
	was := f.known[part]
	gone := at.Log == "" && was.Log != ""
	by := time.Duration(was.Applied.Logged - at.Applied.Logged)
	back := at.Log == was.Log && at.Epoch <= was.Epoch && by > eventlog.Replayed
	f.lost.CompareAndSwap(false, gone || back)
	if gone { // its epochs go on: shards are numbered by them
		return was, f.Redis.Rewind(ctx, part, &was)
	}
	f.known[part] = at
	return at, nil
}

// openFleet makes the store one whose states are in Redis, until running ends. It panics on errors (must).
func (s *Store) openFleet(ctx, running context.Context) {
	log := s.cfg.Log.(*eventlog.NATS) // which has partitions
	f := &fleet{Store: s, Shared: s.cfg.Shared, log: log}
	again := make(chan struct{})
	f.again.Store(&again)
	f.evicts.Store("")
	f.adoptSecret(ctx)
	if s.cfg.Steady != nil { // a machine that begins with a wrong clock would forget what others remember
		s.cfg.Steady.Resume(must.Get(log.State(ctx)).Now)
	}
	s.fleet = f
	f.Owners.Own = f.own
	s.done.Go(func() { f.Owners.Run(running) })
	s.done.Go(func() { f.watch(running) })
	s.ready.Store(true)
}

// adoptSecret reads the secret from Redis, or puts that of the file into a new Redis. It panics on errors (must).
func (f *fleet) adoptSecret(ctx context.Context) {
	secret := must.Get(f.Redis.Secret(ctx, nil))
	if secret == nil {
		var users int // of this directory, which has to move into a new Redis
		row := f.db.read.QueryRowContext(ctx, "SELECT count(*) FROM (SELECT 1 FROM user LIMIT 1)")
		if must.Do(row.Scan(&users)); users > 0 {
			must.Do(fmt.Errorf("exposure: %s holds users' histories and the Redis holds none: move them there first, "+
				"with jianguo migrate, or start with another data directory", f.cfg.Path))
		}
		lost := f.Redis.NoRecords(ctx)
		secret = must.Get(f.Redis.Secret(ctx, nil)) // another service may have made one, and then records
		if secret == nil {
			must.Do(lost)
			meta := must.Get(FileMeta(ctx, f.db.read))
			secret = must.Get(f.Redis.Secret(ctx, []byte(meta["secret"])))
		}
	}
	if len(secret) != len(f.secret) {
		must.Do(fmt.Errorf("exposure: the secret in Redis has %d bytes: %w", len(secret), ErrCorrupt))
	}
	copy(f.secret[:], secret)
}

// watch looks once a second whether Redis answers, and whether it may lack writes: the last ones of a server that has
// become a master, or all of one that has lost its data. Then all partitions begin again.
func (f *fleet) watch(ctx context.Context) {
	masters := map[string]string{} // that are known
	for ctx.Err() == nil {
		look, cancel := context.WithTimeout(ctx, redisWait)
		var secret sync.WaitGroup
		secret.Go(func() { f.trouble.Set(f.Redis.KeepSecret(look, f.secret[:])) })
		now, evicts, _ := redis.Masters(look, f.Redis.Client) // a replica that does not answer does no harm
		secret.Wait()
		for p := range f.known {
			_, _ = f.look(look, p) // owners find what is wrong
		}
		if redis.Changed(masters, now) {
			f.failedOver()
		}
		if f.lost.Load() {
			f.cfg.Logger.Error("exposure: a Redis has lost users' histories", "applied_again", eventlog.ErasureDelay,
				"older", "needs a copy of that Redis")
			failed := false
			for p := range f.known { // of all services
				at, err := f.look(look, p)
				failed = failed || err != nil || at.Log != "" && f.Redis.Rewind(look, p, &at) != nil
			}
			f.lost.Store(failed)
			f.failedOver()
		}
		cancel()
		if f.evicts.Swap(evicts) != evicts && evicts != "" {
			f.cfg.Logger.Error("exposure: a Redis that is full drops users' histories: set its maxmemory-policy to "+
				"noeviction", "maxmemory_policy", evicts)
		}
		_ = clock.Sleep(ctx, time.Second)
	}
}

// failedOver has the owners of this service apply the last minute again, to records that lack some of it.
func (f *fleet) failedOver() {
	f.cfg.Logger.Warn("exposure: a Redis has failed over or was restarted; recent reports are applied again",
		"replayed", eventlog.Replayed)
	f.changed.Store(new(time.Now()))
	again := make(chan struct{})
	close(*f.again.Swap(&again))
}

// Trouble is why a shared store cannot serve filters or take reports, or nil.
func (s *Store) Trouble() error {
	f := s.fleet
	if f == nil {
		return nil
	}
	if err := f.trouble.Err(); err != nil {
		return err
	}
	for p := range f.failing {
		if err := f.failing[p].Err(); err != nil {
			return err
		}
	}
	if n := f.Owners.Unowned(); n > 0 {
		return fmt.Errorf("exposure: %d of %d partitions have no owner yet", n, redis.Partitions)
	}
	return nil
}

// refresh reads the entry's state from Redis. If version is given, which waits for the version in Redis, use is called
// before the answer is there; done says that use returned true and that the state in memory was of this version, which
// is then not read. fetched says that the state was read. The ticket was drawn before version was asked for.
func (f *fleet) refresh(ctx context.Context, e *entry, ticket uint64, version func() (string, error),
	use func() bool) (done, fetched bool, err error) {
	if version != nil {
		e.mu.RLock()
		have, known := e.version, e.st != nil
		done = use()
		e.mu.RUnlock()
		if v, err := version(); err == nil && known && v == have && (done || e.keep(nil, v, ticket)) {
			return done, false, nil
		}
	}
	ctx, cancel := context.WithTimeout(ctx, redisWait)
	defer cancel()
	rec, err := f.Redis.Get(ctx, e.addr)
	if err != nil {
		return false, false, err
	}
	st, err := rec.State(e.addr)
	if err == nil {
		e.keep(st.Adopt(e.pol, f.cfg.Location), rec.Stored, ticket)
	}
	return false, true, err
}

// keep takes a state of a version that was read with a ticket, unless one that was read later is there. Without a state
// it keeps the one in memory, if that is of the version; false: it is not.
func (e *entry) keep(st *state.State, version string, ticket uint64) bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	switch {
	case st != nil && (e.st == nil || e.ticket < ticket):
		e.st, e.version, e.hits, e.ticket = st, version, 0, ticket
	case st == nil && e.version == version:
		e.ticket = max(e.ticket, ticket)
	}
	return e.version == version
}
