package bands

import "golang.org/x/sys/cpu"

// vectors says that the processor has what siftAVX2 needs.
var vectors = cpu.X86.HasAVX2

func sift(masks *sieveMasks, hi []uint32, query uint32, nibbles *[4][16]uint8, units uint8) {
	eights := 0
	if vectors && len(hi) >= 8 {
		eights = len(hi) / 8
		siftAVX2(masks, &hi[0], eights, query, nibbles, units)
	}
	siftGeneric(masks, hi, 8*eights, query, nibbles, units)
}

// siftAVX2 does what siftGeneric does for eights·8 postings.
//
//go:noescape
func siftAVX2(masks *sieveMasks, hi *uint32, eights int, query uint32, nibbles *[4][16]uint8, units uint8)
