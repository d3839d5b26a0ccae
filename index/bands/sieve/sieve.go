// Package sieve selects, of the postings of a bucket, those that may be relatives of
// a fingerprint, by 32 bits each: the bits of the next two bands, a nibble at a time.
// That is eight look-ups in tables of 16 bytes, which AVX2 does for eight postings at
// once; elsewhere, and with the build tag purego, plain Go does.
package sieve

// Step is how many postings Sift takes at most.
const Step = 1024

// Masks have a bit for each posting, the lowest of the first for the first.
type Masks [Step / 64]uint64

// Tables are the costs of flipping the bits of each nibble, from the highest: the
// first four are of the next band, the others of the band after it. Entry 0, no
// flips, is 0.
type Tables [2][4][16]uint8

// Bounds are exclusive: of the costs in the next band, and in both.
type Bounds struct{ Next, Both uint32 }

// Sift sets in masks the bits of those of hi, Step at most, whose difference from
// query costs less than the bounds, and clears the others, up to the last mask that a
// posting has. It may read the capacity of hi.
func Sift(masks *Masks, hi []uint32, query uint32, tables *Tables, bounds Bounds) []uint64 {
	used := masks[:(len(hi)+63)/64]
	clear(used)
	if len(hi) > 0 {
		sift(masks, hi, query, tables, bounds)
	}
	return used
}

// plain sets the bits of the postings from one on. Few pass, and no branch can be
// predicted which: there is none.
func plain(masks *Masks, hi []uint32, from int, query uint32, tables *Tables, bounds Bounds) {
	next, last := &tables[0], &tables[1]
	for i := from; i < len(hi); i++ {
		x := hi[i] ^ query
		cost := uint32(next[0][x>>28]) + uint32(next[1][x>>24&15]) +
			uint32(next[2][x>>20&15]) + uint32(next[3][x>>16&15])
		both := cost + uint32(last[0][x>>12&15]) + uint32(last[1][x>>8&15]) +
			uint32(last[2][x>>4&15]) + uint32(last[3][x&15])
		masks[i/64] |= uint64((cost-bounds.Next)&(both-bounds.Both)>>31) << (i % 64)
	}
}
