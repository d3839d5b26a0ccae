package sketch

import "math/bits"

// base is that of the rolling hash over tokens; odd, so that no bit is lost.
const base = 0x9ddfea08eb382d69

// shingler rolls a hash over every k consecutive tokens.
type shingler struct {
	h, drop uint64 // drop is base^k
	k       int
}

func newShingler(k int) shingler {
	s := shingler{k: k, drop: 1}
	for range k {
		s.drop *= base
	}
	return s
}

// next takes tokens[i] in, and returns the hash of the shingle that ends there if there are enough tokens.
func (s *shingler) next(tokens []token, i int) (uint64, bool) {
	s.h = s.h*base + tokens[i].hash
	if i >= s.k {
		s.h -= tokens[i-s.k].hash * s.drop
	}
	return mix(s.h), i >= s.k-1
}

// pick maps a hash to 0…n-1 by its high bits.
func pick(h uint64, n int) int {
	hi, _ := bits.Mul64(h, uint64(n))
	return int(hi)
}

// pairHash is the hash that a shingler of two gives to the first two tokens.
func pairHash(t []token) uint64 { return mix(t[0].hash*base + t[1].hash) }

// grams numbers the distinct shingles of a text from 0, in order of their first appearance.
type grams struct {
	hashes []uint64 // an open-addressing table; 0 is a free slot
	ids    []int32  // by slot
	used   int
}

// reset empties the table and makes room for n shingles.
func (g *grams) reset(n int) {
	size := 64
	for size < 2*n {
		size *= 2
	}
	if cap(g.hashes) < size {
		g.hashes, g.ids = make([]uint64, size), make([]int32, size)
	} else {
		g.hashes, g.ids = g.hashes[:size], g.ids[:size]
		clear(g.hashes)
	}
	g.used = 0
}

// slot returns the slot where a hash is, or would be. At most as many hashes are put in as reset made room for.
func (g *grams) slot(h uint64) (i uint64, found bool) {
	mask := uint64(len(g.hashes) - 1)
	for i = h & mask; i < uint64(len(g.hashes)); i = (i + 1) & mask {
		switch g.hashes[i] {
		case h:
			return i, true
		case 0:
			return i, false
		}
	}
	return 0, false // not reached: i stays below the length, a power of two
}

// put returns the number of a hash, and whether the hash is new.
func (g *grams) put(h uint64) (id int32, fresh bool) {
	h = max(h, 1)
	i, found := g.slot(h)
	if !found {
		g.hashes[i], g.ids[i] = h, int32(g.used)
		g.used++
	}
	return g.ids[i], !found
}

// find returns the number of a hash, -1 for none.
func (g *grams) find(h uint64) int32 {
	if i, found := g.slot(max(h, 1)); found {
		return g.ids[i]
	}
	return -1
}

// appendTo appends the hashes, in no order.
func (g *grams) appendTo(dst []uint64) []uint64 {
	for _, h := range g.hashes {
		if h != 0 {
			dst = append(dst, h)
		}
	}
	return dst
}
