package bands

// sieve tells most postings of a bucket apart from relatives by 32 bits each,
// those of the next two bands, a nibble at a time: eight look-ups in tables of 16
// bytes, which vector instructions do for eight postings at once, or for
// sixteen.
//
// Costs are in units of which half of maxS makes sieveUnits, rounded down, so
// whoever costs less than the bounds passes; some who do not, pass as well.
type sieve struct {
	unit uint32
	// nibbles[b][j] are the costs of the bits of nibble j, from the highest,
	// of band b. The first band stands once more at the end.
	nibbles [bandCount + 1][4][16]uint8
	masks   sieveMasks
}

const (
	sieveUnits = 128
	sieveStep  = 1024 // postings sifted in one go
)

// sieveMasks have a bit for each posting, the lowest of the first for the first.
type sieveMasks [sieveStep / 64]uint64

// sieveTables are the costs of the eight nibbles of a posting, sieveBounds what
// the first four and all eight have to stay below.
type (
	sieveTables [2][4][16]uint8
	sieveBounds struct{ next, both uint32 }
)

func (s *sieve) prepare(m *margin) {
	s.unit = m.limit/2/sieveUnits + 1
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

// pass sets in masks the bits of the postings of a bucket of band, sieveStep at
// most, whose next band may cost less than next, and that and the one after
// less than both: half and three quarters of maxS at most. It returns as many
// masks as there are postings for. What hi has room for may be read, and says
// nothing.
func (s *sieve) pass(hi []uint32, query uint32, band int, next, both uint32) []uint64 {
	masks := s.masks[:(len(hi)+63)/64]
	clear(masks)
	tables := (*sieveTables)(s.nibbles[(band+1)%bandCount:])
	sift(&s.masks, hi, query, tables, sieveBounds{next/s.unit + 1, both/s.unit + 1})
	return masks
}

// siftGeneric sets bit i of masks, which are clear, where hi[i] passes, from
// some i on. Few do, and no branch foresees which: there is none.
func siftGeneric(masks *sieveMasks, hi []uint32, from int, query uint32, tables *sieveTables, bounds sieveBounds) {
	next, last := &tables[0], &tables[1]
	for i := from; i < len(hi); i++ {
		x := hi[i] ^ query
		cost := uint32(next[0][x>>28]) + uint32(next[1][x>>24&15]) +
			uint32(next[2][x>>20&15]) + uint32(next[3][x>>16&15])
		both := cost + uint32(last[0][x>>12&15]) + uint32(last[1][x>>8&15]) +
			uint32(last[2][x>>4&15]) + uint32(last[3][x&15])
		masks[i/64] |= uint64((cost-bounds.next)&(both-bounds.both)>>31) << (i % 64)
	}
}

// matchGeneric sets bit i of masks, which are clear, where hi[i] is x, from some i
// on.
func matchGeneric(masks *sieveMasks, hi []uint32, from int, x uint32) {
	for i := from; i < len(hi); i++ {
		if hi[i] == x {
			masks[i/64] |= 1 << (i % 64)
		}
	}
}
