package sketch

import (
	"encoding/binary"
	"math/bits"
)

// Compare estimates from two sketches; q is the later text.
func Compare(q, c *Sketch) Comparison {
	r := Comparison{TokensA: int(q.Tokens), TokensB: int(c.Tokens)}
	if q.Tokens == 0 || c.Tokens == 0 {
		return r
	}
	j := estimate(q.mins[:], c.mins[:])
	r.Resemblance = float32(j)
	r.ContainedA, r.ContainedB = containment(j, q.shingles, c.shingles)
	r.SoftA, r.SoftB = containment(estimate(q.softMins[:], c.softMins[:]), q.soft, c.soft)
	if n := min(q.figures, c.figures); n > 0 {
		shared := estimate(q.figureMins[:], c.figureMins[:])
		shared = shared / (1 + shared) * float64(q.figures+c.figures)
		r.Facts.Numbers = int(n)
		r.Facts.NumbersShared = min(int(n), int(shared+.5))
		r.Facts.OnlyA = int(q.figures) - r.Facts.NumbersShared
		r.Facts.OnlyB = int(c.figures) - r.Facts.NumbersShared
	}
	for i, k := 0, 0; i < int(q.nslots) && k < int(c.nslots); {
		switch a, b := q.slots[i], c.slots[k]; {
		case a.place < b.place:
			i++
		case a.place > b.place:
			k++
		default:
			if a.value == b.value {
				r.Facts.SameSlot++
			} else {
				r.Facts.OtherSlot++
			}
			i, k = i+1, k+1
		}
	}
	return r
}

// estimate is the Jaccard estimate from two rows of minima, of a multiple of eight bytes. Bins that are empty
// on both sides say nothing, and of two full ones one in fifteen agrees by chance.
func estimate(a, b []byte) float64 {
	full, used, same := 0, 0, 0
	for i := 0; i < len(a); i += 8 {
		x, y := binary.LittleEndian.Uint64(a[i:]), binary.LittleEndian.Uint64(b[i:])
		inX, inY := filled(x), filled(y)
		both := inX & inY
		full += bits.OnesCount64(both)
		used += bits.OnesCount64(inX | inY)
		same += bits.OnesCount64(both &^ filled(x^y))
	}
	if used == 0 {
		return 0
	}
	const chance = 1. / 15
	j := (float64(same) - chance*float64(full)) / (float64(used) * (1 - chance))
	return min(1, max(0, j))
}

// filled sets the lowest bit of each half byte that is not 0.
func filled(x uint64) uint64 {
	x |= x >> 2
	x |= x >> 1
	return x & 0x1111111111111111
}

// containment turns a Jaccard coefficient and the sizes of two sets into the share of each that the other has.
func containment(j float64, a, b uint32) (inA, inB float32) {
	shared := j / (1 + j) * float64(a+b)
	return float32(min(1, shared/float64(max(a, 1)))), float32(min(1, shared/float64(max(b, 1))))
}
