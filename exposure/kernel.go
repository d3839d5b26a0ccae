package exposure

import (
	"encoding/binary"
	"math/bits"
	"sync"
	"unsafe"
)

// The kernel reads the very bits that bloom/v3 writes for the four little-endian
// bytes of a key; TestKernelIsBloom holds the two against each other. It differs in
// two ways only. It computes the hashes of a key once for all shards, where
// bloom/v3 computes them once a shard; and where a user has several shards of one
// (m, k), it reads them from a lane: each 32 bits of that hold the same few bits of all
// of them side by side, so that one load and one AND test them all, and most
// candidates are settled after four loads whatever the number of shards.

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
	rec   reciprocal
	k     uint64
	ranks [8]uint8    // place in the lane -> index in state.shards
	words [8][]uint64 // the shards' own bits
	n     int         // of them
	lane  []uint32    // the same, interleaved
	unit  uint8       // 1<<unit bits of each shard are in each cell of the lane
}

func newGroup(m uint32, k uint8) group {
	return group{mod: newModulus(m), rec: newReciprocal(m), k: uint64(k)}
}

// places is how many shards fit a cell of a lane: a power of two.
func (g *group) places() int { return 32 >> g.unit }

// mask has the lowest bit of each place.
func (g *group) mask() uint32 {
	return [...]uint32{2: 0x11111111, 3: 0x01010101, 4: 0x00010001, 5: 0x00000001}[g.unit]
}

// add takes a further shard in, of which there may be eight.
func (g *group) add(rank int, words []uint64) {
	g.ranks[g.n], g.words[g.n] = uint8(rank), words
	g.n++
	g.unit = uint8(5 - bits.Len(uint(g.n-1)))
}

// length is how many cells the lane has.
func (g *group) length() int { return len(g.words[0]) * 2 * g.places() }

// buildLane writes the lane to cells; that of a single shard is the shard as it stands,
// where the processor has its bytes in that order.
func (g *group) buildLane(cells []uint32) {
	if g.lane = cells; g.n == 1 {
		if lane, ok := asCells(g.words[0]); ok {
			g.lane = lane
			return
		}
	}
	clear(cells)
	for s, words := range g.words[:g.n] {
		interleave(cells, words, g.unit, s<<g.unit)
	}
}

// interleave sets the bits of one shard in the cells of a lane, from bit shift on.
func interleave(cells []uint32, words []uint64, unit uint8, shift int) {
	done := interleaveVector(cells, words, unit, shift)
	interleaveWords(cells[done*64>>unit:], words[done:], unit, shift)
}

func interleaveWords(cells []uint32, words []uint64, unit uint8, shift int) {
	each := 64 >> unit // cells to a word
	for i, w := range words {
		to := cells[i*each:][:each]
		for j := range to {
			to[j] |= uint32(w&(1<<(1<<unit)-1)) << shift
			w >>= 1 << unit
		}
	}
}

// littleEndian says that this processor begins a word with its lowest byte.
var littleEndian = binary.NativeEndian.Uint16([]byte{1, 0}) == 1

// asCells is the words of a shard as the cells of a lane of its own, if that is the
// order of the processor's bytes.
func asCells(words []uint64) ([]uint32, bool) {
	if !littleEndian || len(words) == 0 {
		return nil, false
	}
	return unsafe.Slice((*uint32)(unsafe.Pointer(&words[0])), 2*len(words)), true
}

// cells are a lane to be read.
type cells struct {
	lane []uint32
	unit uint8
	bits uint64
}

func (g *group) read() cells { return cells{g.lane, g.unit, 1<<g.unit - 1} }

// at is the cell of a location, whose bit of each shard is then the lowest of its place.
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

// batch is how many candidates go through the kernel together: what is known of them
// between its steps stays in the first cache.
const batch = 256

// work is what the kernel knows of a batch between its steps. Those of some processors do
// sixteen at a time.
type work struct {
	hits      [batch]byte        // 1 where a shard holds the key
	hashes    [batch]hashes      // of all keys, in an order of hashVector's own
	at        [batch + 16]uint32 // numbers of the keys that may be held after four locations
	left      [batch + 16]uint32 // these keys
	more      [batch]hashes      // their hashes
	acc       [batch + 16]uint32 // what the cells of each have in common
	found     [batch + 16]byte   // 1 where that is anything, after all locations
	locations [4 * batch]uint32  // some locations of some keys
	common    [batch + 16]uint32 // what the cells of all keys have in common after four
	places    [batch + 16]uint32 // where the hashes of those that are left are
}

var works = sync.Pool{New: func() any { return new(work) }}

// testAll is test for up to a batch of keys, after hashVector; it adds to w.hits. Its
// steps have no branch that depends on a candidate: whether a key is held is as good as
// random, and a processor that has guessed wrong has lost the time of a dozen loads.
func (g *group) testAll(keys []uint32, w *work) {
	if g.k < 4 { // no policy makes it so small
		for i, key := range keys {
			if g.test(baseHashes(key)) != 0 {
				w.hits[i] = 1
			}
		}
		return
	}
	n, ok := g.testVector(keys, w)
	if !ok {
		n = g.testFirst(keys, w)
		g.testRest(n, w)
	}
	for j, i := range w.at[:n] {
		w.hits[i&(batch-1)] |= w.found[j]
	}
}

// testFirst asks for the first four locations and lists the keys that may be held.
// Locations come in fours whose terms grow evenly (see hashes.at), and the four loads
// of a round overlap where a loop of single ones would wait for each. Of candidates
// that five full shards do not hold, three in four end here.
func (g *group) testFirst(keys []uint32, w *work) (n int) {
	c, d, mask := g.read(), g.mod, g.mask()
	for i, key := range keys {
		h := baseHashes(key)
		acc := mask & c.at(d.reduce(h.h0)) & c.at(d.reduce(h.h1+h.h3)) & c.at(d.reduce(h.h0+2*h.h3)) & c.at(d.reduce(h.h1+3*h.h2))
		n &= batch - 1
		w.at[n], w.more[n], w.acc[n] = uint32(i), h, acc
		if acc != 0 {
			n++
		}
	}
	return n
}

// testRest asks for the others, of the first n listed.
func (g *group) testRest(n int, w *work) {
	c, d, k := g.read(), g.mod, g.k
	for i := range w.more[:n] {
		h, acc := &w.more[i], w.acc[i]
		l0, l1, l2, l3, s2, s3 := h.h0, h.h1+h.h3, h.h0+2*h.h3, h.h1+3*h.h2, 4*h.h2, 4*h.h3
		j := uint64(4)
		for ; acc != 0 && j+4 <= k; j += 4 {
			l0, l1, l2, l3 = l0+s2, l1+s3, l2+s3, l3+s2
			acc &= c.at(d.reduce(l0)) & c.at(d.reduce(l1)) & c.at(d.reduce(l2)) & c.at(d.reduce(l3))
		}
		for ; acc != 0 && j < k; j++ {
			acc &= c.at(d.reduce(h.at(j)))
		}
		w.found[i] = 0
		if acc != 0 {
			w.found[i] = 1
		}
	}
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

func newExactTable(n int) (t exactTable) {
	t.reset(n)
	return t
}

// reset empties the table, to hold n keys, and keeps its memory where that is enough.
func (t *exactTable) reset(n int) {
	size, shift := 16, uint8(32-9)
	for size < 2*n {
		size *= 2
	}
	for 1<<(32-shift) < 32*n {
		shift--
	}
	t.mask, t.shift = uint32(size-1), shift
	t.cells = emptied(t.cells, size)
	t.bits = emptied(t.bits, 1<<(32-shift)/64)
}

// emptied is n zeros, in the memory of s if it has room for them.
func emptied[T any](s []T, n int) []T {
	if cap(s) < n {
		return make([]T, n)
	}
	s = s[:n]
	clear(s)
	return s
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
