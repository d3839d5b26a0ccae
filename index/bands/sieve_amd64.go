package bands

import "golang.org/x/sys/cpu"

// vectors says that the processor has what siftAVX2 needs.
var vectors = cpu.X86.HasAVX2

func sift(masks *[sieveStep / 8]uint8, hi []uint32, query uint32, nibbles *[4][16]uint8, units uint8) {
	eights := 0
	if vectors {
		eights = len(hi) / 8
		if eights > 0 {
			siftAVX2(&masks[0], &hi[0], eights, query, nibbles, units)
		}
	}
	if rest := hi[8*eights:]; len(rest) > 0 {
		var last [sieveStep / 8]uint8
		into := masks
		if eights > 0 {
			into = &last
		}
		siftGeneric(into, rest, query, nibbles, units)
		if eights > 0 {
			masks[eights] = last[0]
		}
	}
}

// siftAVX2 does what siftGeneric does for eights·8 postings.
//
//go:noescape
func siftAVX2(masks *uint8, hi *uint32, eights int, query uint32, nibbles *[4][16]uint8, units uint8)
