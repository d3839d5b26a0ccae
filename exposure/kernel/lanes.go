package kernel

import (
	"math/bits"
	"slices"

	"github.com/bits-and-blooms/bloom/v3"
)

// Lanes are the shards of a user, interleaved so that they can be tested together.
type Lanes struct {
	groups []group
}

// NewLanes makes the lanes of these shards, of which nil ones are left out. A shard has a k of at least 4,
// and an m below 2³².
func NewLanes(shards []*bloom.BloomFilter) *Lanes {
	l := new(Lanes)
	for i, f := range shards {
		if f != nil {
			g := l.groupOf(uint64(f.Cap()), uint64(f.K()))
			g.add(i, f.BitSet().Words())
		}
	}
	for i := range l.groups {
		l.groups[i].interleave(make([]uint32, l.groups[i].length()))
	}
	return l
}

// groupOf is the group with room for a further shard of these parameters.
func (l *Lanes) groupOf(m, k uint64) *group {
	i := slices.IndexFunc(l.groups, func(g group) bool { return g.mod.m == m && g.k == k && g.n < 8 })
	if i < 0 {
		i = len(l.groups)
		l.groups = append(l.groups, group{mod: newModulus(m), k: k})
	}
	return &l.groups[i]
}

// Rank is the index, in the list given to Reset, of the last shard that holds a key, or
// -1.
func (l *Lanes) Rank(key uint32) int {
	h, last := baseHashes(key), -1
	for i := range l.groups {
		g := &l.groups[i]
		if hit := g.test(h); hit != 0 {
			last = max(last, int(g.ranks[bits.Len8(hit)-1]))
		}
	}
	return last
}

// Bytes is the memory of the lanes.
func (l *Lanes) Bytes() int {
	n := 0
	for i := range l.groups {
		n += 320 + 4*len(l.groups[i].lane)
	}
	return n
}

// test sets w.hits of the keys, up to a batch, that a shard holds.
func (l *Lanes) test(keys []uint32, w *work) {
	if len(l.groups) == 0 {
		return
	}
	hashVector(keys, w)
	for i := range l.groups {
		g := &l.groups[i]
		n, ok := g.testVector(len(keys), w)
		if !ok {
			n = g.testPlain(keys, w)
		}
		for j, number := range w.numbers[:n] {
			if w.acc[j] != 0 {
				w.hits[number&(batch-1)] = 1
			}
		}
	}
}
