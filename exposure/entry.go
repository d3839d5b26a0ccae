package exposure

import (
	"errors"
	"sync"
	"time"
)

// op is one key of an event that waits until its user's row has been read.
type op struct {
	at, now int64 // unix seconds; now is the event's time in the log
	key     uint32
	kind    EventKind // Delivered or Seen
}

// entry is a user in one history, in memory. It stays in its stripe until it is evicted,
// which never happens while it holds anything that the state file does not.
type entry struct {
	addr string
	pol  *Policy

	mu      sync.RWMutex
	st      *state    // mu; nil until the row has been read
	pending []op      // mu; not yet in st, because st is nil
	gen     uint64    // mu; the flush this entry is due in, 0 for none
	frozen  *snapshot // mu; image for the running flush, taken because a newer event came first
	held    []op      // mu; while st is nil instead of frozen: the ops that belong to the running flush
	hits    int       // mu; requests served since st was read

	refs       int    // stripe.mu; users of the entry, flushes included
	bytes      int64  // stripe.mu; as counted in the stripe
	prev, next *entry // stripe.mu; list by last use
}

// stripe is a part of the cache: a map and a list by last use. It evicts by bytes, and never
// an entry that is in use.
type stripe struct {
	mu      sync.Mutex
	entries map[string]*entry // mu
	bytes   int64             // mu
	newest  entry             // mu; sentinel of the list
	budget  int64
}

const stripes = 64

func newCache(budget int64) *[stripes]stripe {
	all := new([stripes]stripe)
	for i := range all {
		g := &all[i]
		g.entries = make(map[string]*entry)
		g.newest.next, g.newest.prev = &g.newest, &g.newest
		g.budget = budget / stripes
	}
	return all
}

func (g *stripe) unlink(e *entry) {
	e.prev.next, e.next.prev = e.next, e.prev
}

func (g *stripe) push(e *entry) {
	e.prev, e.next = &g.newest, g.newest.next
	e.prev.next, e.next.prev = e, e
}

// acquire pins an entry. addr is only copied when the entry is new.
func (g *stripe) acquire(addr []byte, pol *Policy) (e *entry, known bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	e, known = g.entries[string(addr)]
	if known {
		g.unlink(e)
	} else {
		e = &entry{addr: string(addr), pol: pol}
		g.entries[e.addr] = e
	}
	g.push(e)
	e.refs++
	return e, known
}

// pin adds a reference to an entry the caller holds already.
func (g *stripe) pin(e *entry) {
	g.mu.Lock()
	e.refs++
	g.mu.Unlock()
}

// release ends the use of an entry, with the memory it takes now (negative: as before). Past
// the budget, the entries used longest ago are evicted. keep is false for one that need not
// stay at all.
func (g *stripe) release(e *entry, bytes int64, keep bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	e.refs--
	if bytes >= 0 {
		g.bytes += bytes - e.bytes
		e.bytes = bytes
	}
	if !keep && e.refs == 0 {
		g.remove(e)
	}
	for old := g.newest.prev; g.bytes > g.budget && old != &g.newest; {
		prev := old.prev
		if old.refs == 0 {
			g.remove(old)
		}
		old = prev
	}
}

func (g *stripe) remove(e *entry) {
	g.unlink(e)
	delete(g.entries, e.addr)
	g.bytes -= e.bytes
}

// entryOverhead is what an entry takes besides its state: struct, map cell, address.
const entryOverhead = 320

// weigh is the memory of an entry. The caller holds its lock.
func (e *entry) weigh() int64 {
	n := entryOverhead + len(e.addr) + 24*(cap(e.pending)+cap(e.held))
	if e.st != nil {
		n += e.st.size()
	}
	return int64(n)
}

// load reads the row if it has not been read, and brings the state up to the last event
// applied. The caller holds mu for writing.
func (e *entry) load(s *Store, r *rows) error {
	if e.st != nil {
		return nil
	}
	st, err := r.load(e.addr)
	if err != nil {
		return err
	}
	return e.adopt(s, st, r)
}

// adopt makes a state that of the entry, after applying the ops that wait for it.
func (e *entry) adopt(s *Store, st *state, r *rows) error {
	if e.held != nil {
		if err := st.replay(e.pol, e.held, s.cfg.Location, r.fetch); err != nil {
			return err
		}
		e.frozen, e.held = s.snapshot(e.addr, st), nil
	}
	if err := st.replay(e.pol, e.pending, s.cfg.Location, r.fetch); err != nil {
		return err
	}
	e.st, e.pending, e.hits = st, nil, 0
	return nil
}

// loadOrQuarantine is load for events and flushes, which cannot stop at a damaged row: it is
// replaced by an empty state, and its bytes are set aside by the next flush.
func (s *Store) loadOrQuarantine(e *entry, r *rows) error {
	err := e.load(s, r)
	if !errors.Is(err, ErrCorrupt) {
		return err
	}
	s.metrics.corrupt.Inc()
	s.cfg.Logger.Error("exposure: unreadable state set aside; the user starts empty", "err", err)
	return e.adopt(s, &state{corrupt: err.Error()}, r)
}

// replay applies ops to a state. Ops of one event share their time and are applied
// together.
func (s *state) replay(p *Policy, ops []op, loc *time.Location, fetch fetcher) error {
	var keys []uint32
	for i := 0; i < len(ops); {
		first := ops[i]
		keys = keys[:0]
		for ; i < len(ops) && ops[i].at == first.at && ops[i].now == first.now && ops[i].kind == first.kind; i++ {
			keys = append(keys, ops[i].key)
		}
		at, now := time.Unix(first.at, 0).In(loc), time.Unix(first.now, 0).In(loc)
		if first.kind == Delivered {
			s.deliver(p, keys, at, now)
		} else if err := s.see(p, keys, at, now, fetch); err != nil {
			return err
		}
	}
	return nil
}

// freeze sets aside what belongs to the running flush before a newer event changes
// the entry. The caller holds mu for writing.
func (e *entry) freeze(s *Store) {
	if e.st != nil {
		e.frozen = s.snapshot(e.addr, e.st)
	} else {
		e.held, e.pending = e.pending, nil
	}
}

// snapshot is the image of one user that a flush writes.
type snapshot struct {
	head   []byte // nil: the user is gone, delete the row
	shards []shardImage
	freed  []int64
	// corrupt says why the row this one replaces could not be read; the old bytes
	// are kept aside.
	corrupt string
}

type shardImage struct {
	id   int64
	data []byte
}

// snapshot encodes a state and marks it clean. Shards get their rows here.
func (s *Store) snapshot(addr string, st *state) *snapshot {
	snap := &snapshot{freed: st.freed, corrupt: st.corrupt}
	st.freed, st.corrupt = nil, ""
	for i := range st.shards {
		sh := &st.shards[i]
		if sh.id == 0 {
			sh.id = s.lastShard.Add(1)
			sh.dirty = true
		}
		if sh.dirty {
			sh.dirty = false
			snap.shards = append(snap.shards, shardImage{sh.id, appendShard(nil, sh)})
		}
	}
	if !st.empty() {
		snap.head = appendHead(make([]byte, 0, 64+4*len(st.tail)+6*len(st.ring)+16*len(st.shards)), st, addr)
	}
	return snap
}
