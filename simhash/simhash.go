// Package simhash turns weighted features into a 64-bit SimHash (Charikar 2002; Manku, Jain, Das Sarma 2007)
// and keeps what other implementations throw away: the margin of every bit.
//
// Each feature is a 64-bit hash and a weight. Bit b of the fingerprint is the sign of v_b, the sum of the
// weights of the features that have bit b set, minus the weights of those that have it clear. The magnitude of
// v_b, scaled so that the mean of v_b² over the 64 bits is 1, is the margin of the bit: a bit with a small
// margin flips under any edit, one with a large margin does not. For a query q and a stored fingerprint c,
//
//	S(q, c) = Σ v_b² over the bits b in which q and c differ
//
// is small for copies, with any number of flipped bits, and about 32 for unrelated texts. S is measured with the
// margins of the query, so it is not symmetric.
//
// A text without features has no fingerprint: Print.Empty reports it, and such a text must never be compared by
// distance.
package simhash

import (
	"fmt"
	"math"
	"math/bits"
)

// Bits is the width of a Fingerprint.
const Bits = 64

// Fingerprint is a 64-bit SimHash.
type Fingerprint uint64

// String returns the fingerprint as 16 lower-case hexadecimal digits.
func (f Fingerprint) String() string { return fmt.Sprintf("%016x", uint64(f)) }

// Distance is the Hamming distance of two fingerprints, 0…64.
func Distance(a, b Fingerprint) int { return bits.OnesCount64(uint64(a ^ b)) }

// Print is a fingerprint and the margins it was decided by.
type Print struct {
	Fingerprint Fingerprint
	// Margins[b] is |v_b|, scaled so that the mean of the squares is 1; all zero where the text had no
	// features.
	Margins [Bits]float32
}

// Empty reports whether the text had no features at all.
func (p *Print) Empty() bool { return p.Margins == [Bits]float32{} }

// S is the margin distance from p, the query, to a stored fingerprint: the sum of squared margins over the
// differing bits. 0…64; see the package comment.
func (p *Print) S(c Fingerprint) float32 {
	var s float32
	for x := uint64(p.Fingerprint ^ c); x != 0; x &= x - 1 {
		m := p.Margins[bits.TrailingZeros64(x)]
		s += m * m
	}
	return s
}

// Sum accumulates features. The zero value is ready. Sums are kept in whole units of weight, so that the fingerprint
// and its margins do not depend on the order in which features are added.
type Sum struct {
	// set[b] is the weight, in units, of the features that have bit b set, and total that of all features, both
	// without what is in lanes.
	set   [Bits]int64
	total int64
	// lanes[i] holds four sums of 16 bits, those of bits 4i … 4i+3, so that one multiplication adds to four.
	// pending is the weight that they have taken in, at most what a lane can hold.
	lanes   [Bits / 4]uint64
	pending int64
}

// unit is the number of units of weight in 1; differences below one unit do not count.
const unit = 256

// spread[n] has a 1 in lane k if bit k of n is set.
var spread = func() (t [16]uint64) {
	for n := range t {
		for k := range 4 {
			t[n] |= uint64(n>>k&1) << (16 * k)
		}
	}
	return
}()

// Add adds one feature: hash spreads the feature over the bits (a good 64-bit hash of its text), weight > 0 is
// its importance. Weights are rounded to multiples of 1/256, and are at least 1/256 and at most 2²⁴.
func (s *Sum) Add(hash uint64, weight float32) {
	for w := int64(max(1, min(weight, 1<<24)*unit+0.5)); w > 0; {
		part := min(w, math.MaxUint16)
		if w -= part; s.pending+part > math.MaxUint16 {
			s.flush()
		}
		s.pending += part
		for i := range s.lanes {
			s.lanes[i] += spread[hash>>(4*i)&15] * uint64(part)
		}
	}
}

// flush empties the lanes.
func (s *Sum) flush() {
	for i, x := range s.lanes {
		for k := range 4 {
			s.set[4*i+k] += int64(x >> (16 * k) & 0xffff)
		}
	}
	s.total += s.pending
	s.lanes, s.pending = [Bits / 4]uint64{}, 0
}

// Print returns the fingerprint and margins of what was added. A sum of exactly zero counts as a clear bit with
// margin zero.
func (s *Sum) Print() Print {
	s.flush()
	var p Print
	var v [Bits]float64
	var squares float64
	for b, set := range s.set {
		v[b] = float64(2*set - s.total)
		if v[b] > 0 {
			p.Fingerprint |= 1 << b
		}
		squares += v[b] * v[b]
	}
	if squares == 0 {
		return Print{}
	}
	scale := 1 / math.Sqrt(squares/Bits)
	for b := range v {
		p.Margins[b] = float32(math.Abs(v[b]) * scale)
	}
	return p
}
