package exposure

import (
	"errors"
	"sync"
	"time"
)

// op is one key of an event that waits for its user's row to be read.
type op struct {
	at, now int64 // unix seconds; now is the event's time in the log
	key     uint32
	kind    EventKind // Delivered or Seen
}

// entry is a user in one history, in memory. It is in the map of its segment from
// the first time it is wanted until it is evicted, which is never while it holds
// anything the state file does not.
type entry struct {
	addr string
	pol  *Policy

	mu      sync.RWMutex
	st      *state    // mu; nil until the row has been read
	pending []op      // mu; not yet in st, because st is nil
	gen     uint64    // mu; the flush this entry is due in, 0 for none
	frozen  *snapshot // mu; image for the running flush, taken because a newer event came first
	held    []op      // mu; the same while st is nil: the ops that belong to the running flush
	hits    int       // mu; requests served since st was read

	refs       int    // segment.mu; users of the entry, flushes included
	bytes      int64  // segment.mu; as counted in the segment
	prev, next *entry // segment.mu; list by last use
}

// segment is a part of the cache: a map and a list by last use.
type segment struct {
	mu      sync.Mutex
	entries map[string]*entry // mu
	bytes   int64             // mu
	newest  entry             // mu; sentinel of the list
	budget  int64
}

const segments = 64

func newCache(budget int64) *[segments]segment {
	segs := new([segments]segment)
	for i := range segs {
		segs[i].init(budget / segments)
	}
	return segs
}

func (g *segment) init(budget int64) {
	g.entries = make(map[string]*entry)
	g.newest.next, g.newest.prev = &g.newest, &g.newest
	g.budget = budget
}

func (g *segment) unlink(e *entry) {
	e.prev.next, e.next.prev = e.next, e.prev
}

func (g *segment) push(e *entry) {
	e.prev, e.next = &g.newest, g.newest.next
	e.prev.next, e.next.prev = e, e
}

// acquire pins an entry. addr is only copied when the entry is new.
func (g *segment) acquire(addr []byte, pol *Policy) (e *entry, known bool) {
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
func (g *segment) pin(e *entry) {
	g.mu.Lock()
	e.refs++
	g.mu.Unlock()
}

// release gives an entry back with the memory it takes now (negative: as before);
// past the budget, the entries used longest ago go. keep is false for one that need
// not stay at all.
func (g *segment) release(e *entry, bytes int64, keep bool) {
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

func (g *segment) remove(e *entry) {
	g.unlink(e)
	delete(g.entries, e.addr)
	g.bytes -= e.bytes
}

// entryOverhead is what an entry takes besides its state: struct, map cell, address.
const entryOverhead = 320

// weigh is the memory of an entry, whose lock the caller holds.
func (e *entry) weigh() int64 {
	n := entryOverhead + len(e.addr) + 24*(cap(e.pending)+cap(e.held))
	if e.st != nil {
		n += e.st.size()
	}
	return int64(n)
}

// load reads the row, if that has not been done, and brings the state up to the last
// event applied. The caller holds mu for writing.
func (e *entry) load(s *Store, r *rows) error {
	if e.st != nil {
		return nil
	}
	st, err := r.load(e.addr)
	if err != nil {
		return err
	}
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

// loadOrQuarantine is load for those who must go on: an unreadable row is replaced by
// an empty state, and its bytes are set aside by the next flush.
func (s *Store) loadOrQuarantine(e *entry, r *rows) error {
	err := e.load(s, r)
	if !errors.Is(err, ErrCorrupt) {
		return err
	}
	s.metrics.corrupt.Inc()
	s.cfg.Logger.Error("exposure: unreadable state set aside; the user starts anew", "err", err)
	fresh := &state{corrupt: err.Error()}
	if e.held != nil {
		if err := fresh.replay(e.pol, e.held, s.cfg.Location, r.fetch); err != nil {
			return err
		}
		e.frozen, e.held = s.snapshot(e.addr, fresh), nil
	}
	if err := fresh.replay(e.pol, e.pending, s.cfg.Location, r.fetch); err != nil {
		return err
	}
	e.st, e.pending, e.hits = fresh, nil, 0
	return nil
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
