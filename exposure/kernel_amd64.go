package exposure

import (
	"math"

	"golang.org/x/sys/cpu"
)

var (
	haveAVX512 = haveAVX2 && cpu.X86.HasAVX512F && cpu.X86.HasAVX512DQ && cpu.X86.HasAVX512VL && cpu.X86.HasAVX512BW
	haveAVX2   = cpu.X86.HasAVX2 && cpu.X86.HasFMA && cpu.X86.HasBMI1 && cpu.X86.HasBMI2 && cpu.X86.HasPOPCNT
)

// reciprocal is 1/m in the ways that vectors need it: 0 where one does not serve.
type reciprocal struct {
	// inv is a little less than 1/m, so that the estimate of x/m for an integer x < 2⁶⁴
	// is never too large, and by less than one too small. Converting x and rounding the
	// product add 2⁻⁵³ of themselves each at most, and what is missing to 1/m is what a
	// fused multiplication says exactly. For small m the quotients are too large for that.
	inv float64
	// Without an instruction that converts 64 bits, x is folded first: its upper half
	// times fold = 2³² mod m, and its lower half, make y < 2³²m, which is the same mod m
	// and, less than 2⁵¹, stands in the lower bits of the number 2⁵² + y as it is. That
	// times scale, the multiple of 2⁻⁵² next to 1/m, and added to offset is 1½·2⁵² and
	// y/m rounded. Scale is wrong by 2⁻⁵³ at most, so the quotient by less than a quarter
	// before it is rounded, and for the remainder -m < r < m.
	fold          uint64
	scale, offset float64
}

func newReciprocal(m uint32) (r reciprocal) {
	const twice = 0x1.000001p-52 // two relative errors of 2⁻⁵³, and their product
	f := float64(m)
	inv := 1 / f
	for math.FMA(-inv, f, 1) < twice {
		inv = math.Nextafter(inv, 0)
	}
	if (math.FMA(-inv, f, 1)+twice)*0x1p64 < f && m < 1<<30 {
		r.inv = inv
	}
	if 64 <= m && m <= 1<<19 {
		scale := math.Round(0x1p52 / f)
		r.fold, r.scale, r.offset = 1<<32%uint64(m), scale*0x1p-52, 0x1.8p52-scale
	}
	return r
}

// hashVector is baseHashes of up to a batch of keys, in the order testVector takes them.
func (w *work) hashVector(keys []uint32) {
	switch {
	case len(keys) == 0:
	case haveAVX512:
		baseHashesAVX512(&keys[0], len(keys), &w.hashes[0])
	case haveAVX2:
		baseHashesAVX2(&keys[0], len(keys), &w.hashes[0])
	}
}

// testVector is testFirst and testRest, after hashVector.
func (g *group) testVector(keys []uint32, w *work) (n int, ok bool) {
	bits, lane := uint64(1)<<g.unit-1, g.lane[:(g.mod.m-1)>>g.unit+1]
	switch {
	case haveAVX512 && g.rec.inv != 0:
		n = testFirstAVX512(&w.hashes[0], &keys[0], len(keys), &lane[0], uint64(g.unit), bits, uint64(g.mask()), g.mod.m, g.rec.inv, &w.at[0], &w.left[0], &w.acc[0])
		if n > 0 {
			baseHashesAVX512(&w.left[0], n, &w.more[0])
			testRestAVX512(&w.more[0], n, &lane[0], uint64(g.unit), bits, g.k, g.mod.m, g.rec.inv, &w.acc[0], &w.found[0])
		}
	case haveAVX2 && !haveAVX512 && g.rec.scale != 0 && g.k <= 4+restLocations:
		n = g.testAVX2(len(keys), lane, bits, w)
	default:
		return 0, false
	}
	return n, true
}

// interleaveVector does whole eights of pairs of cells, and says how many words those are.
func interleaveVector(cells []uint32, words []uint64, unit uint8, shift int) int {
	if !haveAVX2 || unit == 5 { // a single shard: nothing to interleave with
		return 0
	}
	each := 1 << (unit - 2) // words to eight pairs of cells
	n := len(words) / each
	if n == 0 {
		return 0
	}
	if haveAVX512 {
		interleaveAVX512(&cells[:16*n][0], n, &words[0], uint64(unit), uint64(shift))
	} else {
		interleaveAVX2(&cells[:16*n][0], n, &words[0], uint64(unit), uint64(shift))
	}
	return n * each
}

// baseHashesAVX512 computes the hashes of n ≥ 1 keys, and as many as make sixteens of
// them: for each sixteen h0 of the even ones and of the odd ones, then h1, h2 and h3.
//
//go:noescape
func baseHashesAVX512(keys *uint32, n int, to *hashes)

// testFirstAVX512 tests the four first locations of n ≥ 1 keys, and writes the numbers of
// those that may be held, the keys, and what their cells have in common. It writes sixteen
// of each at a time.
//
//go:noescape
func testFirstAVX512(hashes *hashes, keys *uint32, n int, lane *uint32, unit, bits, mask, m uint64, inv float64, at, left, acc *uint32) (count int)

// testRestAVX512 tests the others of k ≥ 4 locations of n ≥ 1 keys whose cells have acc
// in common so far. It does sixteen at a time.
//
//go:noescape
func testRestAVX512(hashes *hashes, n int, lane *uint32, unit, bits, k, m uint64, inv float64, acc *uint32, found *byte)

// interleaveAVX512 sets bits of n times 16 cells.
//
//go:noescape
func interleaveAVX512(cells *uint32, n int, words *uint64, unit, shift uint64)

// restKeys and restLocations are of how many keys and locations w.locations has room for.
const restKeys, restLocations = 64, 16

// testAVX2 computes locations and looks at their cells in turns: what has just been
// written by eights is slow to read one by one.
func (g *group) testAVX2(n int, lane []uint32, bits uint64, w *work) int {
	d := &divisor{g.mod.m, g.rec.fold, g.rec.scale, g.rec.offset}
	unit, mask, common := uint64(g.unit), g.mask(), &w.common
	start := [8]uint32{mask, mask, mask, mask, mask, mask, mask, mask}
	firstLocationsAVX2(&w.hashes[0], n, d, &w.locations[0])
	probeAVX2(&w.locations[0], n, 4, &lane[0], unit, bits, &start[0], 0, &common[0])
	n = listLeftAVX2(&common[0], n, &left[0], &w.at[0], &w.places[0], &w.acc[0])
	for i := 0; i < n && g.k > 4; i += restKeys {
		n, acc := min(restKeys, n-i), &w.acc[i]
		restLocationsAVX2(&w.hashes[0], &w.places[i], n, g.k, d, &w.locations[0])
		probeAVX2(&w.locations[0], n, g.k-4, &lane[0], unit, bits, acc, 32, acc)
	}
	for i, acc := range w.acc[:n] {
		w.found[i] = 0
		if acc != 0 {
			w.found[i] = 1
		}
	}
	return n
}

// divisor is what locations are reduced by.
type divisor struct {
	m, fold       uint64
	scale, offset float64
}

// left has for each set of eight the numbers of its members.
var left = func() (to [256]uint64) {
	for set := range to {
		n := 0
		for i := range uint64(8) {
			if set>>i&1 != 0 {
				to[set] |= i << n
				n += 8
			}
		}
	}
	return to
}()

// baseHashesAVX2 computes the hashes of n ≥ 1 keys, and as many as make eights of them.
//
//go:noescape
func baseHashesAVX2(keys *uint32, n int, to *hashes)

// firstLocationsAVX2 computes the first four locations of n ≥ 1 keys, of eight keys each
// after the other.
//
//go:noescape
func firstLocationsAVX2(hashes *hashes, n int, d *divisor, to *uint32)

// restLocationsAVX2 computes the others of k > 4 locations of n ≥ 1 keys, whose hashes are
// at those places.
//
//go:noescape
func restLocationsAVX2(hashes *hashes, places *uint32, n int, k uint64, d *divisor, to *uint32)

// probeAVX2 writes what acc and the cells at k ≥ 1 locations of n ≥ 1 keys have in common.
// It does eight at a time, and acc is step bytes further for the next.
//
//go:noescape
func probeAVX2(locations *uint32, n int, k uint64, lane *uint32, unit, bits uint64, acc *uint32, step uint64, to *uint32)

// listLeftAVX2 lists which of n ≥ 1 numbers are not zero: their own numbers, where the
// hashes of such a key are, and themselves. It writes eight of each at a time.
//
//go:noescape
func listLeftAVX2(from *uint32, n int, left *uint64, at, places, acc *uint32) (count int)

// interleaveAVX2 does what interleaveAVX512 does.
//
//go:noescape
func interleaveAVX2(cells *uint32, n int, words *uint64, unit, shift uint64)
