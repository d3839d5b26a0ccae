package exposure

import "golang.org/x/sys/cpu"

var haveAVX512 = cpu.X86.HasAVX512F && cpu.X86.HasAVX512DQ && cpu.X86.HasAVX512VL && cpu.X86.HasAVX512BW

// vectorMinimum is the smallest m whose remainders testLaneAVX512 can take. A
// location x < 2⁶⁴ loses up to 2¹⁰ as it becomes a float64; 1/m is off by 2⁻⁵³ of
// itself at most, and so is the product, which is below 2⁶⁴/m. Together the quotient is
// off by less than (2¹⁰ + 2¹¹ + 2¹¹)/m < 1.
const vectorMinimum = 8192

// testVector does as many keys as it can, and says how many: whole eights of them,
// or none where the processor or the group is not made for it.
func (g *group) testVector(keys []uint32, hits *[batch]byte) int {
	n := len(keys) &^ 7
	if !haveAVX512 || n == 0 || n > batch || g.mod.m < vectorMinimum || g.k < 4 {
		return 0
	}
	inv := 1 / float64(g.mod.m)
	if g.lane != nil {
		testLaneAVX512(&keys[0], n, &hits[0], &g.lane[:g.mod.m+lanePad][0], int(g.k), g.mod.m, inv)
		return n
	}
	clear(hits[:n])
	for i, words := range g.words {
		testShardAVX512(&keys[0], n, &hits[0], 1<<i, &words[:(g.mod.m+63)/64][0], int(g.k), g.mod.m, inv)
	}
	return n
}

// testLaneAVX512 tests n keys, a multiple of eight and not zero, for k ≥ 4 locations.
// It reads up to three bytes behind the m of the lane.
//
//go:noescape
func testLaneAVX512(keys *uint32, n int, hits *byte, lane *byte, k int, m uint64, inv float64)

// testShardAVX512 is the same for a shard by itself: where that holds a key, it sets a
// bit of the key's byte of hits.
//
//go:noescape
func testShardAVX512(keys *uint32, n int, hits *byte, bit byte, words *uint64, k int, m uint64, inv float64)
