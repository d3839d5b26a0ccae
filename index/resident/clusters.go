package resident

import (
	"slices"
	"sync"
)

// Clusters maps clusters to their leads. It holds the exceptions only: a cluster
// that is not in it is led by its founder, whose ordinal is the cluster's id. The
// zero value is empty.
type Clusters struct {
	mu     sync.RWMutex
	leads  map[uint32]uint32 // cluster -> lead; 0: it has none
	merged map[uint32]uint32 // cluster -> the cluster that an editor merged it into
}

// Resolve follows merges to the cluster that id is now part of.
func (c *Clusters) Resolve(id uint32) uint32 {
	c.mu.RLock()
	defer c.mu.RUnlock()
	return c.resolve(id)
}

func (c *Clusters) resolve(id uint32) uint32 {
	for c.merged[id] != 0 {
		id = c.merged[id]
	}
	return id
}

// Lead returns the cluster that id is now part of, and its lead, 0 for none.
func (c *Clusters) Lead(id uint32) (cluster, lead uint32) {
	c.mu.RLock()
	defer c.mu.RUnlock()
	id = c.resolve(id)
	return id, c.lead(id)
}

func (c *Clusters) lead(id uint32) uint32 {
	if lead, ok := c.leads[id]; ok {
		return lead
	}
	return id
}

// Own returns the lead of id itself, merges not followed, and the cluster that it
// was merged into, 0 for none.
func (c *Clusters) Own(id uint32) (lead, merged uint32) {
	c.mu.RLock()
	defer c.mu.RUnlock()
	return c.lead(id), c.merged[id]
}

// Behind returns a cluster and then all that were merged into it, directly or not, in order.
func (c *Clusters) Behind(id uint32) []uint32 {
	c.mu.RLock()
	defer c.mu.RUnlock()
	ids := []uint32{id}
	for from := range c.merged {
		if c.resolve(from) == id {
			ids = append(ids, from)
		}
	}
	slices.Sort(ids[1:])
	return ids
}

// Set replaces what is known of a cluster; merged 0: it was not merged.
func (c *Clusters) Set(id, lead, merged uint32) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.leads == nil {
		c.leads, c.merged = map[uint32]uint32{}, map[uint32]uint32{}
	}
	if lead == id {
		delete(c.leads, id)
	} else {
		c.leads[id] = lead
	}
	if merged == 0 {
		delete(c.merged, id)
	} else {
		c.merged[id] = merged
	}
}
