package exposure

import (
	"container/list"
	"sync"
	"sync/atomic"

	"jianguo/exposure/state"
)

// entry is a user in one history, in memory. It stays in the cache until it is evicted,
// which never happens while it holds anything that the state file does not.
type entry struct {
	addr state.Address
	pol  *state.Policy

	mu      sync.RWMutex
	st      *state.State    // mu; nil until the row has been read
	gen     uint64          // mu; the flush this entry is due in, 0 for none
	frozen  *state.Snapshot // mu; image for the running flush, taken because a newer event came first
	version string          // mu; of st, in a shared store
	ticket  uint64          // mu; that it was read with
	hits    int             // mu; requests served since st was read

	tickets atomic.Uint64 // numbers of reads: one of a higher number began later

	refs    int           // cache.mu; users of the entry, flushes included
	bytes   int64         // cache.mu; as counted in the cache
	element *list.Element // cache.mu; in cache.newest
}

// cache is the users in memory: a map and a list by last use. It evicts by bytes, and never
// an entry that is in use.
type cache struct {
	mu      sync.Mutex
	entries map[state.Address]*entry // mu
	bytes   int64                    // mu
	newest  list.List                // mu; of *entry, by last use
	budget  int64
}

func newCache(budget int64) *cache {
	return &cache{entries: map[state.Address]*entry{}, budget: budget}
}

func (c *cache) size() (users int, bytes int64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.entries), c.bytes
}

// acquire pins an entry.
func (c *cache) acquire(addr state.Address, pol *state.Policy) (e *entry, known bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	e, known = c.entries[addr]
	if known {
		c.newest.MoveToFront(e.element)
	} else {
		e = &entry{addr: addr, pol: pol}
		c.entries[addr], e.element = e, c.newest.PushFront(e)
	}
	e.refs++
	return e, known
}

// release ends the use of an entry that has not changed. keep is false for one that need not stay in memory.
func (c *cache) release(e *entry, keep bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.unpin(e, keep)
}

// unlockAndRelease is release for a caller that holds the lock of the entry, which may have changed.
func (c *cache) unlockAndRelease(e *entry, keep bool) {
	bytes := e.memory()
	e.mu.Unlock()
	c.mu.Lock()
	defer c.mu.Unlock()
	c.bytes += bytes - e.bytes
	e.bytes = bytes
	c.unpin(e, keep)
}

// unpin evicts, past the budget, the entries used longest ago. The caller holds c.mu.
func (c *cache) unpin(e *entry, keep bool) {
	if e.refs--; !keep && e.refs == 0 {
		c.remove(e)
	}
	for element := c.newest.Back(); c.bytes > c.budget && element != nil; {
		old := element.Value.(*entry)
		if element = element.Prev(); old.refs == 0 {
			c.remove(old)
		}
	}
}

func (c *cache) remove(e *entry) {
	c.newest.Remove(e.element)
	delete(c.entries, e.addr)
	c.bytes -= e.bytes
}

// entryOverhead is the memory of an entry without its state: struct, map cell, address.
const entryOverhead = 352

// memory is the bytes of an entry. The caller holds its lock.
func (e *entry) memory() int64 {
	n := entryOverhead + len(e.addr.User)
	if e.st != nil {
		n += e.st.Size()
	}
	return int64(n)
}
