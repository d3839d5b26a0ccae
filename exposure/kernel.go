package exposure

import (
	"encoding/binary"
	"math/bits"
)

// The kernel reads the very bits that bloom/v3 writes for the four little-endian
// bytes of a key; TestKernelIsBloom holds the two against each other. It differs in
// two ways only. It computes the hashes of a key once for all shards, where
// bloom/v3 computes them once a shard; and where a user has several shards of one
// (m, k), it reads them transposed: byte i of a lane holds bit i of up to eight
// shards, so that one load and one AND test all of them, and most candidates
// are settled after four loads whatever the number of shards.

// hashes are the four base hashes of a key (MurmurHash3: Appleby, public domain).
// A struct and not an array: those the compiler keeps in registers.
type hashes struct{ h0, h1, h2, h3 uint64 }

// baseHashes is MurmurHash3_x64_128, seed 0, twice: of the key's four bytes, and of
// those and a 1. Of so few bytes only the tail step and the end remain.
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

// at is the ith location before reduction, in bloom/v3's order.
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

// modulus reduces by a fixed m without dividing (Barrett): with inv = ⌊2⁶⁴/m⌋ the
// estimated quotient is at most one too small. The correction is made without a
// branch, which would be mispredicted one time in four.
type modulus struct{ m, inv uint64 }

func newModulus(m uint32) modulus {
	inv, _ := bits.Div64(1, 0, uint64(m))
	return modulus{m: uint64(m), inv: inv}
}

func (d modulus) reduce(x uint64) uint64 {
	q, _ := bits.Mul64(x, d.inv)
	r, borrow := bits.Sub64(x-q*d.m, d.m, 0)
	return r + d.m&-borrow
}

// testShard asks one shard.
func testShard(words []uint64, d modulus, k uint64, h hashes) bool {
	for i := uint64(0); i < k; i++ {
		l := d.reduce(h.at(i))
		if words[l>>6]>>(l&63)&1 == 0 {
			return false
		}
	}
	return true
}

// addToShard sets a key's bits and says whether any was clear: bloom/v3's TestOrAdd,
// the other way round.
func addToShard(words []uint64, d modulus, k uint64, h hashes) (added bool) {
	for i := uint64(0); i < k; i++ {
		l := d.reduce(h.at(i))
		if bit := uint64(1) << (l & 63); words[l>>6]&bit == 0 {
			words[l>>6] |= bit
			added = true
		}
	}
	return added
}

// group is up to eight shards of one (m, k), tested together.
type group struct {
	mod   modulus
	k     uint64
	ranks [8]uint8   // bit in the lane -> index in state.shards
	words [][]uint64 // the shards' own bits
	lane  []byte     // their transposition, m bytes, or nil while not worth building
}

// lanePad are bytes behind a lane that may be read with the last one.
const lanePad = 8

// buildLane transposes the shards. It costs about as much as testing five thousand
// candidates, so it waits until a user is asked for again.
func (g *group) buildLane() {
	n := len(g.words[0]) * 64
	lane := make([]byte, n, n+lanePad)
	var w [8]uint64
	for i := 0; i < len(g.words[0]); i++ {
		for s, words := range g.words {
			w[s] = words[i]
		}
		transpose64(&w, lane[i*64:i*64+64])
	}
	g.lane = lane
}

// transpose64 turns 64 bits of eight shards into 64 bytes, bit s of byte i being
// bit i of shard s: eight times the 8×8 bit transposition of Warren's Hacker's
// Delight, section 7-3.
func transpose64(w *[8]uint64, out []byte) {
	for b := 0; b < 8; b++ {
		sh := 8 * b
		x := w[0]>>sh&255 | w[1]>>sh&255<<8 | w[2]>>sh&255<<16 | w[3]>>sh&255<<24 |
			w[4]>>sh&255<<32 | w[5]>>sh&255<<40 | w[6]>>sh&255<<48 | w[7]>>sh&255<<56
		t := (x ^ x>>7) & 0x00aa00aa00aa00aa
		x ^= t ^ t<<7
		t = (x ^ x>>14) & 0x0000cccc0000cccc
		x ^= t ^ t<<14
		t = (x ^ x>>28) & 0x00000000f0f0f0f0
		x ^= t ^ t<<28
		binary.LittleEndian.PutUint64(out[8*b:], x)
	}
}

// test is the set of shards of the group, as bits, that hold the key.
func (g *group) test(h hashes) byte {
	if g.lane == nil || g.k < 4 { // and no policy makes k so small
		var hit byte
		for s, words := range g.words {
			if testShard(words, g.mod, g.k, h) {
				hit |= 1 << s
			}
		}
		return hit
	}
	// Locations come in fours whose terms grow evenly (see hashes.at), and the four
	// loads of a round overlap where a loop of single ones would wait for each. Of
	// candidates that five full shards do not hold, three in four end here.
	lane, d := g.lane, g.mod
	a, b, c, e := h.h0, h.h1+h.h3, h.h0+2*h.h3, h.h1+3*h.h2
	acc := lane[d.reduce(a)] & lane[d.reduce(b)] & lane[d.reduce(c)] & lane[d.reduce(e)]
	i := uint64(4)
	for s2, s3 := 4*h.h2, 4*h.h3; acc != 0 && i+4 <= g.k; i += 4 {
		a, b, c, e = a+s2, b+s3, c+s3, e+s2
		acc &= lane[d.reduce(a)] & lane[d.reduce(b)] & lane[d.reduce(c)] & lane[d.reduce(e)]
	}
	for ; acc != 0 && i < g.k; i++ {
		acc &= lane[d.reduce(h.at(i))]
	}
	return acc
}

// batch is how many candidates go through the kernel together: what is known of them
// between its steps stays in the first cache.
const batch = 256

// testAll is test for up to a batch of keys.
func (g *group) testAll(keys []uint32, hits *[batch]byte) {
	n := g.testVector(keys, hits)
	if n == 0 && g.lane != nil && g.k >= 4 {
		n = g.testBatch(keys, hits)
	}
	for ; n < len(keys); n++ {
		hits[n] = g.test(baseHashes(keys[n]))
	}
}

// testBatch is testAll over a lane, in steps without a branch that depends on a
// candidate: a lane of half its bits set answers at random, and a processor that has
// guessed wrong has lost the time of a dozen loads.
func (g *group) testBatch(keys []uint32, hits *[batch]byte) int {
	var all [batch]hashes
	var left [batch]uint16 // those that may still be held
	lane, d := g.lane, g.mod
	m := 0
	for i, key := range keys {
		h := baseHashes(key)
		all[i] = h
		acc := lane[d.reduce(h.h0)] & lane[d.reduce(h.h1+h.h3)] & lane[d.reduce(h.h0+2*h.h3)] & lane[d.reduce(h.h1+3*h.h2)]
		hits[i] = acc
		left[m&(batch-1)] = uint16(i)
		if acc != 0 {
			m++
		}
	}
	for _, i := range left[:m] {
		h := &all[i&(batch-1)]
		acc := hits[i&(batch-1)]
		a, b, c, e, s2, s3 := h.h0, h.h1+h.h3, h.h0+2*h.h3, h.h1+3*h.h2, 4*h.h2, 4*h.h3
		j := uint64(4)
		for ; acc != 0 && j+4 <= g.k; j += 4 {
			a, b, c, e = a+s2, b+s3, c+s3, e+s2
			acc &= lane[d.reduce(a)] & lane[d.reduce(b)] & lane[d.reduce(c)] & lane[d.reduce(e)]
		}
		for ; acc != 0 && j < g.k; j++ {
			acc &= lane[d.reduce(h.at(j))]
		}
		hits[i&(batch-1)] = acc
	}
	return len(keys)
}

// exactTable is an open-addressing set of the keys that are known exactly (tail
// and ring). Keys are hashes already, so their low bits are the address. Their high
// bits are that of a bit in a map of 1/32 or less ones, which sends most strangers
// away without a look at the cells.
type exactTable struct {
	cells []uint32
	mask  uint32
	bits  []uint64
	shift uint8
}

func newExactTable(n int) exactTable {
	size, shift := 16, uint8(32-9)
	for size < 2*n {
		size *= 2
	}
	for 1<<(32-shift) < 32*n {
		shift--
	}
	return exactTable{cells: make([]uint32, size), mask: uint32(size - 1), bits: make([]uint64, 1<<(32-shift)/64), shift: shift}
}

func (t *exactTable) add(key uint32) {
	at := key >> t.shift
	t.bits[at>>6] |= 1 << (at & 63)
	i := key & t.mask
	for t.cells[i] != 0 && t.cells[i] != key {
		i = (i + 1) & t.mask
	}
	t.cells[i] = key
}

// may is false for most keys that are not in the table.
func (t *exactTable) may(key uint32) bool {
	at := key >> t.shift
	return t.bits[at>>6]>>(at&63)&1 != 0
}

func (t *exactTable) has(key uint32) bool {
	if !t.may(key) {
		return false
	}
	for i := key & t.mask; ; i = (i + 1) & t.mask {
		switch t.cells[i&uint32(len(t.cells)-1)] {
		case key:
			return true
		case 0:
			return false
		}
	}
}
