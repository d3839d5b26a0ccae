package bands

import "golang.org/x/sys/cpu"

// vectors says that the processor has what siftAVX2 needs.
var vectors = cpu.X86.HasAVX2

func sift(masks *sieveMasks, hi []uint32, query uint32, tables *sieveTables, bounds sieveBounds) {
	n := len(hi)
	eights := 0
	if vectors && n > 0 {
		// The last eight go beyond the end, where there is room: whatever lies
		// there is masked away.
		eights = min((n+7)/8, cap(hi)/8)
		if eights > 0 {
			siftAVX2(masks, &hi[0], eights, query, tables, bounds.next, bounds.both)
		}
		if over := 8*eights - n; over > 0 {
			masks[(n-1)/64] &= ^uint64(0) >> (63 - (n-1)%64)
			return
		}
	}
	siftGeneric(masks, hi, 8*eights, query, tables, bounds)
}

// siftAVX2 does what siftGeneric does for eights·8 postings.
//
//go:noescape
func siftAVX2(masks *sieveMasks, hi *uint32, eights int, query uint32, tables *sieveTables, next, both uint32)
