package kernel

import (
	"math/bits"
	"sync"
)

// batch is how many keys are tested together: the results between two steps stay in the
// first-level cache.
const batch = 256

// work holds the results between the steps of a batch. Steps in assembly write eight
// results at a time, hence the room behind a batch.
type work struct {
	hits      [batch]byte       // 1 where a shard holds the key
	hashes    [batch]hashes     // of all keys, in the order of hashVector
	numbers   [batch + 8]uint32 // of the keys that may be held after four locations
	offsets   [batch + 8]uint32 // in bytes, of their hashes in hashes
	rest      [batch]hashes     // their hashes; of testFirst only
	acc       [batch + 8]uint32 // AND of the cells of each of them
	common    [batch + 8]uint32 // AND of the first four cells of every key
	locations [4 * batch]uint32 // some locations of some keys
}

var works = sync.Pool{New: func() any { return new(work) }}

// group is up to eight shards of one (m, k), tested together.
type group struct {
	mod   modulus
	k     uint64
	ranks [8]uint8    // index of each shard in the list given to Reset
	words [8][]uint64 // the shards' own bits
	n     int         // shards
	lane  []uint32    // the same bits, interleaved
	unit  uint8       // each cell of the lane has 1<<unit bits of each shard
}

// slots is how many shards a cell of the lane has room for: a power of two.
func (g *group) slots() int { return 32 >> g.unit }

// mask has the lowest bit of each slot.
func (g *group) mask() uint32 {
	return [...]uint32{2: 0x11111111, 3: 0x01010101, 4: 0x00010001, 5: 0x00000001}[g.unit]
}

// add adds a further shard, of which there may be eight.
func (g *group) add(rank int, words []uint64) {
	g.ranks[g.n], g.words[g.n] = uint8(rank), words
	g.n++
	g.unit = uint8(5 - bits.Len(uint(g.n-1)))
}

// length is the number of cells of the lane.
func (g *group) length() int { return len(g.words[0]) * 2 * g.slots() }

// interleave writes the lane to cells: bit l of shard s becomes bit (s << unit) + l mod 1<<unit
// of cell l >> unit.
func (g *group) interleave(cells []uint32) {
	g.lane = cells
	n := g.slots()
	for i := range g.words[0] {
		var w [8]uint64
		for s := range g.n {
			w[s] = g.words[s][i]
		}
		transpose(&w, n)
		to := cells[2*n*i:][:2*n]
		for j, x := range w[:n] {
			to[j], to[n+j] = uint32(x), uint32(x>>32)
		}
	}
}

// transpose transposes two n × n matrices of 32/n bits an element, of which the first n
// words have a row each in either half (Warren, Hacker's Delight, 7-3).
func transpose(w *[8]uint64, n int) {
	mask := uint64(0x0000ffff0000ffff)
	for d, shift := n/2, 16; d > 0; d, shift = d/2, shift/2 {
		for i := range n {
			if a, b := &w[i&7], &w[(i+d)&7]; i&d == 0 {
				t := (*a>>(shift&63) ^ *b) & mask
				*a ^= t << (shift & 63)
				*b ^= t
			}
		}
		mask ^= mask << (shift / 2 & 63)
	}
}

// cells are a lane to be read.
type cells struct {
	lane []uint32
	unit uint8
	bits uint64
}

func (g *group) read() cells { return cells{g.lane, g.unit, 1<<g.unit - 1} }

// at is the cell of a location, shifted so that each shard's bit of that location is the
// lowest of its slot.
func (c cells) at(l uint64) uint32 { return c.lane[l>>(c.unit&7)] >> (l & c.bits & 31) }

// test is the set of shards of the group, as bits, that hold the key.
func (g *group) test(h hashes) (hit byte) {
	acc, c := g.mask(), g.read()
	for i := uint64(0); acc != 0 && i < g.k; i++ {
		acc &= c.at(g.mod.reduce(h.at(i)))
	}
	for s := 0; acc != 0; s++ {
		hit |= byte(acc&1) << s
		acc >>= 1 << g.unit
	}
	return hit
}

// testFirst tests the first four locations of up to a batch of keys. It lists in w.numbers the n keys that may be held
// after these. It has no branch that depends on a single key: whether a key is held is as good as random, and a
// mispredicted branch costs as much as a dozen loads. Locations come in fours whose terms grow evenly
// (see hashes.at), and the four loads of a round overlap. Of the keys that five full shards
// do not hold, three in four end here.
func (g *group) testFirst(keys []uint32, w *work) (n int) {
	c, d, mask := g.read(), g.mod, g.mask()
	for i, key := range keys {
		h := baseHashes(key)
		acc := mask & c.at(d.reduce(h.h0)) & c.at(d.reduce(h.h1+h.h3)) &
			c.at(d.reduce(h.h0+2*h.h3)) & c.at(d.reduce(h.h1+3*h.h2))
		n &= batch - 1
		w.numbers[n], w.rest[n], w.acc[n] = uint32(i), h, acc
		if acc != 0 {
			n++
		}
	}
	return n
}

// testRest tests the other locations, of the first n keys listed: w.acc is not 0 for those that are held.
func (g *group) testRest(n int, w *work) {
	c, d, k := g.read(), g.mod, g.k
	for i := range w.rest[:n] {
		h, acc := &w.rest[i], w.acc[i]
		l0, l1, l2, l3, s2, s3 := h.h0, h.h1+h.h3, h.h0+2*h.h3, h.h1+3*h.h2, 4*h.h2, 4*h.h3
		j := uint64(4)
		for ; acc != 0 && j+4 <= k; j += 4 {
			l0, l1, l2, l3 = l0+s2, l1+s3, l2+s3, l3+s2
			acc &= c.at(d.reduce(l0)) & c.at(d.reduce(l1)) & c.at(d.reduce(l2)) & c.at(d.reduce(l3))
		}
		for ; acc != 0 && j < k; j++ {
			acc &= c.at(d.reduce(h.at(j)))
		}
		w.acc[i] = acc
	}
}
