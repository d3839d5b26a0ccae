package bands

import "golang.org/x/sys/cpu"

// vectors says that the processor has what siftAVX2 needs, wideVectors that it has
// what siftAVX512 does.
var (
	vectors     = cpu.X86.HasAVX2
	wideVectors = cpu.X86.HasAVX512BW && cpu.X86.HasAVX512VBMI && cpu.X86.HasAVX512VNNI
)

func sift(masks *sieveMasks, hi []uint32, query uint32, tables *sieveTables, bounds sieveBounds) {
	n, done := len(hi), 0
	if n > 0 {
		// The last of a vector go beyond the end, where there is room: whatever lies
		// there is masked away.
		switch {
		case wideVectors:
			if sixteens := min((n+15)/16, cap(hi)/16); sixteens > 0 {
				siftAVX512(masks, &hi[0], sixteens, query, tables, bounds.next, bounds.both)
				done = 16 * sixteens
			}
		case vectors:
			if eights := min((n+7)/8, cap(hi)/8); eights > 0 {
				siftAVX2(masks, &hi[0], eights, query, tables, bounds.next, bounds.both)
				done = 8 * eights
			}
		}
		if done > n {
			masks[(n-1)/64] &= ^uint64(0) >> (63 - (n-1)%64)
			return
		}
	}
	siftGeneric(masks, hi, done, query, tables, bounds)
}

// match sets in masks, which are clear, the bits of those of hi, sieveStep at most,
// that are x. What hi has room for may be read.
func match(masks *sieveMasks, hi []uint32, x uint32) {
	n, done := len(hi), 0
	if vectors {
		if eights := min((n+7)/8, cap(hi)/8); eights > 0 {
			matchAVX2(masks, &hi[:1][0], eights, x)
			done = 8 * eights
		}
		if done > n {
			masks[(n-1)/64] &= ^uint64(0) >> (63 - (n-1)%64)
			return
		}
	}
	matchGeneric(masks, hi, done, x)
}

// matchAVX2 does what matchGeneric does for eights·8 postings.
//
//go:noescape
func matchAVX2(masks *sieveMasks, hi *uint32, eights int, x uint32)

// siftAVX2 does what siftGeneric does for eights·8 postings.
//
//go:noescape
func siftAVX2(masks *sieveMasks, hi *uint32, eights int, query uint32, tables *sieveTables, next, both uint32)

// siftAVX512 does what siftGeneric does for sixteens·16 postings.
//
//go:noescape
func siftAVX512(masks *sieveMasks, hi *uint32, sixteens int, query uint32, tables *sieveTables, next, both uint32)
