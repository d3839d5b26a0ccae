package bands

import (
	"iter"
	"math/bits"
)

// sieve tells most postings of a bucket apart from relatives by 16 bits each,
// the next band's, a nibble at a time: four look-ups in tables of 16 bytes, which
// vector instructions do for eight postings at once.
//
// Costs are in units of which half of maxS makes sieveUnits, rounded down, so
// whoever costs less than the bound passes; some who do not, pass as well.
type sieve struct {
	unit uint32
	// nibbles[b][j] are the costs of the bits of nibble j, from the highest,
	// of band b.
	nibbles [bandCount][4][16]uint8
	masks   [sieveStep / 8]uint8
}

const (
	sieveUnits = 128
	sieveStep  = 1024 // postings sifted in one go
)

func (s *sieve) prepare(m *margin) {
	s.unit = m.limit/2/sieveUnits + 1
	for band := range s.nibbles {
		for j := range s.nibbles[band] {
			for x := range s.nibbles[band][j] {
				cost := m.cost(band, uint16(x)<<(12-4*j)) / s.unit
				s.nibbles[band][j][x] = uint8(min(cost, 255))
			}
		}
	}
}

// pass yields the places of the postings of a bucket of band whose next band
// may cost less than bound, which is at most half of maxS.
func (s *sieve) pass(hi []uint32, query uint32, band int, bound uint32) iter.Seq[int] {
	return func(yield func(int) bool) {
		nibbles, units := &s.nibbles[(band+1)%bandCount], uint8(bound/s.unit)+1
		for from := 0; from < len(hi); from += sieveStep {
			part := hi[from:min(from+sieveStep, len(hi))]
			sift(&s.masks, part, query, nibbles, units)
			for i, mask := range s.masks[:(len(part)+7)/8] {
				for ; mask != 0; mask &= mask - 1 {
					if !yield(from + 8*i + bits.TrailingZeros8(mask)) {
						return
					}
				}
			}
		}
	}
}

// siftGeneric sets bit i of masks where hi[i] passes, for all of hi, and
// clears the rest of the last mask. Few do, and no branch foresees which:
// there is none.
func siftGeneric(masks *[sieveStep / 8]uint8, hi []uint32, query uint32, nibbles *[4][16]uint8, units uint8) {
	for i := range masks[:(len(hi)+7)/8] {
		mask := uint32(0)
		for j, h := range hi[8*i : min(8*i+8, len(hi))] {
			x := h ^ query
			cost := uint32(nibbles[0][x>>28]) + uint32(nibbles[1][x>>24&15]) +
				uint32(nibbles[2][x>>20&15]) + uint32(nibbles[3][x>>16&15])
			mask |= (cost - uint32(units)) >> 31 << j
		}
		masks[i] = uint8(mask)
	}
}
