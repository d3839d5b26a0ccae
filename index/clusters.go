package index

import "sync"

// clusters holds what is resident of clusters: only the exceptions. A cluster
// that is not mentioned is led by its founder, whose ordinal is its id.
type clusters struct {
	mu     sync.RWMutex
	leads  map[uint32]uint32 // cluster -> lead; 0: no lead is left
	merged map[uint32]uint32 // cluster -> the cluster an editor merged it into
}

func (c *clusters) init() {
	c.leads, c.merged = map[uint32]uint32{}, map[uint32]uint32{}
}

// resolve follows merges to the cluster that now stands for id.
func (c *clusters) resolve(id uint32) uint32 {
	c.mu.RLock()
	defer c.mu.RUnlock()
	return c.resolveLocked(id)
}

func (c *clusters) resolveLocked(id uint32) uint32 {
	for {
		next, ok := c.merged[id]
		if !ok {
			return id
		}
		id = next
	}
}

// lead returns the cluster that stands for id and its lead, 0 for none.
func (c *clusters) lead(id uint32) (cluster, lead uint32) {
	c.mu.RLock()
	defer c.mu.RUnlock()
	return c.leadLocked(id)
}

func (c *clusters) leadLocked(id uint32) (cluster, lead uint32) {
	id = c.resolveLocked(id)
	if lead, ok := c.leads[id]; ok {
		return id, lead
	}
	return id, id
}

// own returns the lead of id itself, merges not followed.
func (c *clusters) own(id uint32) (lead, merged uint32) {
	c.mu.RLock()
	defer c.mu.RUnlock()
	merged = c.merged[id]
	if lead, ok := c.leads[id]; ok {
		return lead, merged
	}
	return id, merged
}

func (c *clusters) set(id, lead, merged uint32) {
	c.mu.Lock()
	defer c.mu.Unlock()
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
