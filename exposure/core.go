package exposure

import (
	"sync/atomic"

	"jianguo/exposure/state"
	"jianguo/exposure/trace"
	"jianguo/internal/streams"
)

// core is what the writer and the filters share.
type core struct {
	cfg      Config
	policies map[string]*Policy  // by history
	keeps    map[string][]string // by history, the kinds of reports that it keeps
	kinds    []string            // of reports
	secret   [32]byte
	db       *database
	metrics  *metrics
	cache    atomic.Pointer[cache]
	Traces   *trace.Traces // of users, for support
	popular  popularCounts

	lastShard atomic.Int64 // row number of the last shard
	ready     atomic.Bool
	failed    streams.Trouble
}

// Err is the error that stopped the store, or nil.
func (s *core) Err() error { return s.failed.Err() }

// Ready says whether everything logged before Open has been applied, and nothing has
// failed since.
func (s *core) Ready() bool { return s.ready.Load() && s.Err() == nil }

// scene names the histories of a scene.
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
func (s *core) load(e *entry, r *rows) error {
	if e.st != nil {
		return nil
	}
	st, err := r.load(e.addr)
	if err == nil {
		e.st, e.hits = st, 0
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

// nextShard is a number for a new shard.
func (s *core) nextShard() int64 { return s.lastShard.Add(1) }
