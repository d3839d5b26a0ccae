package exposure

import (
	"container/list"
	"sync"
	"sync/atomic"

	"github.com/zeebo/xxh3"

	"jianguo/exposure/state"
)

// entry is a user in one history, in memory. It stays in its stripe until it is evicted,
// which never happens while it holds anything that the state file does not.
type entry struct {
	addr string
	pol  *Policy

	mu      sync.RWMutex
	st      *state.State    // mu; nil until the row has been read
	gen     uint64          // mu; the flush this entry is due in, 0 for none
	frozen  *state.Snapshot // mu; image for the running flush, taken because a newer event came first
	version string          // mu; of st, in a shared store
	ticket  uint64          // mu; that it was read with
	hits    int             // mu; requests served since st was read

	tickets atomic.Uint64 // numbers of reads: one of a higher number began later

	refs  int           // stripe.mu; users of the entry, flushes included
	bytes int64         // stripe.mu; as counted in the stripe
	place *list.Element // stripe.mu; in stripe.newest
}

// stripe is a part of the cache: a map and a list by last use. It evicts by bytes, and never
// an entry that is in use.
type stripe struct {
	mu      sync.Mutex
	entries map[string]*entry // mu
	bytes   int64             // mu
	newest  list.List         // mu; of *entry, by last use
	budget  int64
}

// cache is the users in memory.
type cache [64]stripe

func newCache(budget int64) *cache {
	c := new(cache)
	for i := range c {
		g := &c[i]
		g.entries = make(map[string]*entry)
		g.budget = budget / int64(len(c))
	}
	return c
}

// stripe spreads addresses over the cache.
func (c *cache) stripe(addr []byte) *stripe { return &c[xxh3.Hash(addr)%uint64(len(c))] }

// size is the number of users in memory, and the bytes they take.
func (c *cache) size() (users int, bytes int64) {
	for i := range c {
		g := &c[i]
		g.mu.Lock()
		users += len(g.entries)
		bytes += g.bytes
		g.mu.Unlock()
	}
	return users, bytes
}

// acquire pins an entry. addr is only copied when the entry is new.
func (g *stripe) acquire(addr []byte, pol *Policy) (e *entry, known bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	e, known = g.entries[string(addr)]
	if known {
		g.newest.MoveToFront(e.place)
	} else {
		e = &entry{addr: string(addr), pol: pol}
		g.entries[e.addr], e.place = e, g.newest.PushFront(e)
	}
	e.refs++
	return e, known
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
	for at := g.newest.Back(); g.bytes > g.budget && at != nil; {
		old := at.Value.(*entry)
		if at = at.Prev(); old.refs == 0 {
			g.remove(old)
		}
	}
}

// unlock is release for a caller that holds the lock of the entry, which it unlocks.
func (g *stripe) unlock(e *entry, keep bool) {
	bytes := e.weigh()
	e.mu.Unlock()
	g.release(e, bytes, keep)
}

func (g *stripe) remove(e *entry) {
	g.newest.Remove(e.place)
	delete(g.entries, e.addr)
	g.bytes -= e.bytes
}

// entryOverhead is the memory of an entry without its state: struct, map cell, address.
const entryOverhead = 352

// weigh is the memory of an entry. The caller holds its lock.
func (e *entry) weigh() int64 {
	n := entryOverhead + len(e.addr)
	if e.st != nil {
		n += e.st.Size()
	}
	return int64(n)
}
