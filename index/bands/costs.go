package bands

// Costs are squared margins in fixed point: their sums do not depend on the order of
// adding, so "cheaper" means the same in every look-up.
const costBits = 20

// subset is a set of bits of one band that may be flipped: its cost, band and
// bits in one number, so that subsets are totally ordered and one number bounds
// exactly what is probed.
//
//	bits 18…63 the sum of the squared margins, bits 16 and 17 the band,
//	bits 0…15 the bits of the key that are flipped
type subset uint64

func (s subset) cost() uint32  { return uint32(s >> 18) }
func (s subset) band() int     { return int(s >> 16 & 3) }
func (s subset) flips() uint16 { return uint16(s) }
