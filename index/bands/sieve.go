package bands

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
	masks   sieveMasks
}

const (
	sieveUnits = 128
	sieveStep  = 1024 // postings sifted in one go
)

// sieveMasks have a bit for each posting, the lowest of the first for the first.
type sieveMasks [sieveStep / 64]uint64

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

// pass sets in masks the bits of the postings of a bucket of band, sieveStep at
// most, whose next band may cost less than bound, which is at most half of
// maxS. It returns as many masks as there are postings for.
func (s *sieve) pass(hi []uint32, query uint32, band int, bound uint32) []uint64 {
	masks := s.masks[:(len(hi)+63)/64]
	clear(masks)
	sift(&s.masks, hi, query, &s.nibbles[(band+1)%bandCount], uint8(bound/s.unit)+1)
	return masks
}

// siftGeneric sets bit i of masks, which are clear, where hi[i] passes, from
// some i on. Few do, and no branch foresees which: there is none.
func siftGeneric(masks *sieveMasks, hi []uint32, from int, query uint32, nibbles *[4][16]uint8, units uint8) {
	for i := from; i < len(hi); i++ {
		x := hi[i] ^ query
		cost := uint32(nibbles[0][x>>28]) + uint32(nibbles[1][x>>24&15]) +
			uint32(nibbles[2][x>>20&15]) + uint32(nibbles[3][x>>16&15])
		masks[i/64] |= uint64((cost-uint32(units))>>31) << (i % 64)
	}
}
