//go:build !purego

package kernel

import (
	"math"

	"golang.org/x/sys/cpu"
)

// haveAVX2 says that this processor runs the assembly. Tests turn it off.
var haveAVX2 = cpu.X86.HasAVX2 && cpu.X86.HasFMA && cpu.X86.HasBMI2

// divisor reduces x < 2⁶⁴ modulo m, 64 ≤ m ≤ 2¹⁹, without an instruction that multiplies or
// converts 64 bits. First x is folded: its upper half times fold = 2³² mod m, plus its lower
// half, is y < 2³²m, the same as x modulo m. Being less than 2⁵¹, y is the mantissa of the
// double 2⁵² + y. That times scale, the multiple of 2⁻⁵² next to 1/m, plus offset, is
// 1½·2⁵² + y/m rounded. The error of scale is at most 2⁻⁵³, so the quotient is wrong by less
// than a quarter before it is rounded, and the remainder r is in -m < r < m.
type divisor struct {
	m, fold       uint64
	scale, offset float64
}

func newDivisor(m uint64) divisor {
	scale := math.Round(0x1p52 / float64(m))
	return divisor{m, 1 << 32 % m, scale * 0x1p-52, 0x1.8p52 - scale}
}

// The second step of the assembly handles restKeys keys at a time, and up to restLocations
// locations of each: w.locations has room for no more.
const restKeys, restLocations = 64, 16

// hashVector writes the base hashes of up to a batch of keys to w.hashes, in the order
// that testVector reads them.
func hashVector(keys []uint32, w *work) {
	if haveAVX2 && len(keys) > 0 {
		baseHashesAVX2(&keys[0], len(keys), &w.hashes[0])
	}
}

// testVector is testPlain of the n keys that hashVector has hashed. It computes locations
// and loads their cells in separate steps: what has been stored eight at a time is slow to
// load one by one right after.
func (g *group) testVector(n int, w *work) (count int, ok bool) {
	if !haveAVX2 || g.mod.m < 64 || g.mod.m > 1<<19 || g.k > 4+restLocations {
		return 0, false
	}
	d, lane := newDivisor(g.mod.m), g.lane[:(g.mod.m-1)>>g.unit+1]
	unit, bits, mask := uint64(g.unit), uint64(1)<<g.unit-1, g.mask()
	start := [8]uint32{mask, mask, mask, mask, mask, mask, mask, mask}
	locationsAVX2(&w.hashes[0], &offsets[0], n, 0, 4, &d, &w.locations[0])
	probeAVX2(&w.locations[0], n, 4, &lane[0], unit, bits, &start[0], 0, &w.common[0])
	for i, common := range w.common[:n] { // without a branch, which would be mispredicted
		w.numbers[count], w.offsets[count], w.acc[count] = uint32(i), offsets[i], common
		if common != 0 {
			count++
		}
	}
	for i := 0; i < count && g.k > 4; i += restKeys {
		n, acc := min(restKeys, count-i), &w.acc[i]
		locationsAVX2(&w.hashes[0], &w.offsets[i], n, 4, g.k, &d, &w.locations[0])
		probeAVX2(&w.locations[0], n, g.k-4, &lane[0], unit, bits, acc, 32, acc)
	}
	return count, true
}

// offsets are where the hashes of each key of a batch are, in bytes.
var offsets = func() (to [batch]uint32) {
	for i := range uint32(batch) {
		to[i] = i/8*256 + [...]uint32{0, 8, 32, 40, 16, 24, 48, 56}[i%8]
	}
	return to
}()

// baseHashesAVX2 computes the hashes of n ≥ 1 keys, and as many as make eights of them.
//
//go:noescape
func baseHashesAVX2(keys *uint32, n int, to *hashes)

// locationsAVX2 computes the locations from one of 0 and 4 to k of n ≥ 1 keys, whose hashes are at the given offsets:
// of eight keys one location, then the next, and so on.
//
//go:noescape
func locationsAVX2(hashes *hashes, offsets *uint32, n int, from, k uint64, d *divisor, to *uint32)

// probeAVX2 writes the AND of acc and the cells at k ≥ 1 locations of n ≥ 1 keys. It does
// eight keys at a time, and moves acc by step bytes after each eight.
//
//go:noescape
func probeAVX2(locations *uint32, n int, k uint64, lane *uint32, unit, bits uint64,
	acc *uint32, step uint64, to *uint32)
