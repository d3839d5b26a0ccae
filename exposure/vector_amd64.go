package exposure

import (
	"math"

	"golang.org/x/sys/cpu"
)

var haveAVX512 = cpu.X86.HasAVX512F && cpu.X86.HasAVX512DQ && cpu.X86.HasAVX512VL && cpu.X86.HasAVX512BW

// newReciprocal is 1/m for the quotients of testLaneAVX512: a little less, so that
// the estimate of x/m for an integer x < 2⁶⁴ is never too large, and by less than one
// too small. Converting x and rounding the product add 2⁻⁵³ of themselves each at most,
// and what is missing to 1/m is what a fused multiplication says exactly. For small m
// the quotients are too large for that, and ok is false.
func newReciprocal(m uint64) (inv float64, ok bool) {
	const twice = 0x1.000001p-52 // two relative errors of 2⁻⁵³, and their product
	f := float64(m)
	inv = 1 / f
	for math.FMA(-inv, f, 1) < twice {
		inv = math.Nextafter(inv, 0)
	}
	return inv, (math.FMA(-inv, f, 1)+twice)*0x1p64 < f && m < 1<<30
}

// testVector does as many keys as it can, and says how many: whole eights of them,
// or none where the processor or the group is not made for it.
func (g *group) testVector(keys []uint32, hits *[batch]byte) int {
	n := len(keys) &^ 7
	if !haveAVX512 || n == 0 || n > batch || g.k < 4 {
		return 0
	}
	inv, ok := newReciprocal(g.mod.m)
	if !ok {
		return 0
	}
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
