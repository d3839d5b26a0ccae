package kernel

import (
	"math/bits"
	"slices"

	"github.com/bits-and-blooms/bloom/v3"
)

// Lanes are the shards of a user, interleaved so that they can be tested together.
type Lanes []group

// NewLanes makes the lanes of these shards, of which nil ones are left out. A shard has a k of at least 4,
// and an m below 2³².
func NewLanes(shards []*bloom.BloomFilter) (l Lanes) {
	for i, f := range shards {
		if f != nil {
			g := l.groupOf(uint64(f.Cap()), uint64(f.K()))
			g.add(i, f.BitSet().Words())
		}
	}
	for i := range l {
		l[i].interleave()
	}
	return l
}

// groupOf is the group with room for a further shard of these parameters.
func (l *Lanes) groupOf(m, k uint64) *group {
	i := slices.IndexFunc(*l, func(g group) bool { return g.mod.m == m && g.k == k && g.n < 8 })
	if i < 0 {
		i = len(*l)
		*l = append(*l, group{mod: newModulus(m), k: k})
	}
	return &(*l)[i]
}

// Rank is the index, in the list given to NewLanes, of the last shard that holds a key, or
// -1.
func (l Lanes) Rank(key uint32) int {
	h, last := baseHashes(key), -1
	for i := range l {
		g := &l[i]
		if hit := g.test(h); hit != 0 {
			last = max(last, int(g.ranks[bits.Len8(hit)-1]))
		}
	}
	return last
}

func (l Lanes) Bytes() (n int) {
	for i := range l {
		n += 320 + 4*len(l[i].lane)
	}
	return n
}

// test sets w.hits of the keys, up to a batch, that a shard holds.
func (l Lanes) test(keys []uint32, w *work) {
	if len(l) == 0 {
		return
	}
	hashVector(keys, w)
	for i := range l {
		g := &l[i]
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
	acc       [batch + 8]uint32 // AND of the cells of each of them
	common    [batch + 8]uint32 // AND of the first four cells of every key
	locations [4 * batch]uint32 // some locations of some keys
}

// group is up to eight shards of one (m, k), tested together.
type group struct {
	mod   modulus
	k     uint64
	ranks [8]uint8    // index of each shard in the list given to NewLanes
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

// interleave makes the lane: bit l of shard s becomes bit (s << unit) + l mod 1<<unit
// of cell l >> unit.
func (g *group) interleave() {
	n := g.slots()
	g.lane = make([]uint32, 2*n*len(g.words[0]))
	for i := range g.words[0] {
		var w [8]uint64
		for s := range g.n {
			w[s] = g.words[s][i]
		}
		transpose(&w, n)
		to := g.lane[2*n*i:][:2*n]
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

// at is the cell of a location, shifted so that each shard's bit of that location is the
// lowest of its slot.
func (g *group) at(l uint64) uint32 { return g.lane[l>>(g.unit&7)] >> (l & (1<<g.unit - 1) & 31) }

// common is the AND of the cells of a key's locations. There is no branch between the first four, after which three in
// four of the keys that are not held end: it would be mispredicted.
func (g *group) common(h hashes) uint32 {
	d := g.mod
	acc := g.mask() & g.at(d.reduce(h.at(0))) & g.at(d.reduce(h.at(1))) & g.at(d.reduce(h.at(2))) &
		g.at(d.reduce(h.at(3)))
	for i := uint64(4); acc != 0 && i < g.k; i++ {
		acc &= g.at(d.reduce(h.at(i)))
	}
	return acc
}

// test is the set of shards of the group, as bits, that hold the key.
func (g *group) test(h hashes) (hit byte) {
	acc := g.common(h)
	for s := 0; acc != 0; s++ {
		hit |= byte(acc&1) << s
		acc >>= 1 << g.unit
	}
	return hit
}

// testPlain tests up to a batch of keys, and lists those that the group holds as testVector does.
func (g *group) testPlain(keys []uint32, w *work) (n int) {
	for i, key := range keys {
		acc := g.common(baseHashes(key))
		w.numbers[n], w.acc[n] = uint32(i), acc
		if acc != 0 {
			n++
		}
	}
	return n
}

// hashes are the four base hashes that bloom/v3 derives all locations of a key from
// (MurmurHash3: Appleby, public domain). It is a struct and not an array because the compiler
// keeps the fields of a struct in registers.
type hashes struct{ h0, h1, h2, h3 uint64 }

// baseHashes is MurmurHash3_x64_128, seed 0, of the key's four bytes, and of those four
// and a byte 1. Inputs that short need only the tail step and the finalisation.
func baseHashes(key uint32) (h hashes) {
	const c1, c2 = 0x87c37b91114253d5, 0x4cf5ad432745937f
	p := bits.RotateLeft64(uint64(key)*c1, 31) * c2
	q := bits.RotateLeft64((uint64(key)|1<<32)*c1, 31) * c2
	a, b := fmix((p^4)+4), fmix((p^4)+8)
	c, d := fmix((q^5)+5), fmix((q^5)+10)
	h.h0, h.h1 = a+b, a+2*b
	h.h2, h.h3 = c+d, c+2*d
	return h
}

func fmix(k uint64) uint64 {
	k ^= k >> 33
	k *= 0xff51afd7ed558ccd
	k ^= k >> 33
	k *= 0xc4ceb9fe1a85ec53
	k ^= k >> 33
	return k
}

// at is the ith location before it is reduced modulo m, in bloom/v3's order.
func (h hashes) at(i uint64) uint64 {
	base, step := h.h0, h.h2
	if i&1 != 0 {
		base = h.h1
	}
	if (i+i&1)&2 != 0 {
		step = h.h3
	}
	return base + i*step
}

// modulus reduces by a fixed m without a division (Barrett): with inv = ⌊2⁶⁴/m⌋ the
// estimated quotient is at most one too small. The correction has no branch, which would
// be mispredicted one time in four.
type modulus struct{ m, inv uint64 }

func newModulus(m uint64) modulus {
	inv, _ := bits.Div64(1, 0, m)
	return modulus{m, inv}
}

func (d modulus) reduce(x uint64) uint64 {
	q, _ := bits.Mul64(x, d.inv)
	r, borrow := bits.Sub64(x-q*d.m, d.m, 0)
	return r + d.m&-borrow
}
