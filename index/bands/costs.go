package bands

import "jianguo/index/bands/sieve"

// costTables are the costs of a margin look-up as package sieve takes them: in units
// of which half of maxS makes costUnits, rounded down, so that every posting that
// costs less than the bounds passes. Some that cost more pass as well.
type costTables struct {
	unit uint32
	// nibbles[b] are the costs of the nibbles of band b. The first band stands once
	// more at the end.
	nibbles [bandCount + 1][4][16]uint8
	masks   sieve.Masks
}

const costUnits = 128

func (s *costTables) prepare(m *margin) {
	s.unit = m.limit/2/costUnits + 1
	for band := range bandCount {
		for j := range s.nibbles[band] {
			for x := range s.nibbles[band][j] {
				cost := m.cost(band, uint16(x)<<(12-4*j)) / s.unit
				s.nibbles[band][j][x] = uint8(min(cost, 255))
			}
		}
	}
	s.nibbles[bandCount] = s.nibbles[0]
}

// pass returns a bit for each posting of a bucket of band, sieve.Step at most: set
// where its next band may cost less than next, and that and the one after less than
// both, which are half and three quarters of maxS at most.
func (s *costTables) pass(hi []uint32, query uint32, band int, next, both uint32) []uint64 {
	tables := (*sieve.Tables)(s.nibbles[(band+1)%bandCount:])
	return sieve.Sift(&s.masks, hi, query, tables, sieve.Bounds{Next: next/s.unit + 1, Both: both/s.unit + 1})
}
