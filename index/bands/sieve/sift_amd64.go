//go:build !purego

package sieve

import "golang.org/x/sys/cpu"

var hasAVX2 = cpu.X86.HasAVX2

func sift(masks *Masks, hi []uint32, query uint32, tables *Tables, bounds Bounds) {
	eights := 0
	if hasAVX2 {
		// The last vector may go beyond the end where there is room: what it says of
		// that is masked away.
		eights = min((len(hi)+7)/8, cap(hi)/8)
	}
	if eights > 0 {
		siftAVX2(masks, &hi[:1][0], eights, query, tables, bounds.Next, bounds.Both)
	}
	if n := len(hi); 8*eights <= n {
		plain(masks, hi, 8*eights, query, tables, bounds)
	} else {
		masks[(n-1)/64] &= ^uint64(0) >> (63 - (n-1)%64)
	}
}

// siftAVX2 does what plain does for 8·eights postings.
//
//go:noescape
func siftAVX2(masks *Masks, hi *uint32, eights int, query uint32, tables *Tables, next, both uint32)
