package bands

import (
	"math/bits"

	"jianguo/index/bands/buckets"
	"jianguo/simhash"
)

// MaxDistance is the largest distance within which Hamming misses nothing.
const MaxDistance = bandCount - 1

// Hamming appends to dst every posting at distance ≤ max of fp, each once, in
// no order. max is 0…MaxDistance; beyond, it panics.
func (b *Bands) Hamming(dst []Hit, fp simhash.Fingerprint, max int) []Hit {
	b.hamming(fp, max, func(h Hit, _ int) { dst = append(dst, h) })
	return dst
}

// HammingLimit is Hamming bounded: of more than limit postings at distance ≤
// max it appends the nearest, and of those at one distance the newest (the
// highest ordinals), best first. cut reports that there were more. It visits what
// Hamming visits, about 1 ns a posting that shares 31 bits; it bounds the memory and
// the work of the caller.
func (b *Bands) HammingLimit(dst []Hit, fp simhash.Fingerprint, max, limit int) (hits []Hit, cut bool) {
	if limit <= 0 {
		return dst, false
	}
	var nearest best
	nearest.reset(limit)
	b.hamming(fp, max, func(h Hit, distance int) { nearest.add(h, float32(distance)) })
	return nearest.appendTo(dst)
}

// hamming calls found once for every posting at distance ≤ max.
func (b *Bands) hamming(fp simhash.Fingerprint, max int, found func(h Hit, distance int)) {
	if max < 0 || max > MaxDistance {
		panic("bands: distance beyond MaxDistance")
	}
	pin := b.memory.Pin()
	defer pin.Unpin()
	var views [bandCount]buckets.View
	for band, t := range b.bands {
		views[band] = t.Bucket(uint16(buckets.Rotate(uint64(fp), band) >> 48))
	}
	for band := range views {
		if views[band].Sorted == 0 {
			views[band].Prefetch()
		}
	}
	for band := range views {
		q := bucketQuery{band: band, query: buckets.Rotate(uint64(fp), band), max: max, view: &views[band], found: found}
		q.scan(q.view.Sorted, len(q.view.Hi))
		q.sorted()
	}
}

// bucketQuery is the look-up in the bucket of one band.
type bucketQuery struct {
	band  int
	query uint64 // rotated: the band's bits first
	max   int
	view  *buckets.View
	found func(Hit, int)
}

// minRun is how many sorted postings are worth a search of their own.
const minRun = 16

// sorted visits those sorted postings whose next band differs by one bit at
// most: as runs that share the query's prefix, or the prefix with one bit
// flipped, of as many bits as leave minRun postings of a random bucket.
func (q *bucketQuery) sorted() {
	n := q.view.Sorted
	if n == 0 {
		return
	}
	width := min(bits.Len(uint(n/minRun)), bandBits)
	if width == 0 {
		q.scan(0, n)
		return
	}
	prefix := uint32(q.query>>16) >> (32 - width)
	q.run(prefix, width)
	if q.max == 0 {
		return
	}
	for b := range width {
		q.run(prefix^1<<b, width)
	}
}

// run visits the sorted postings that begin with the width bits of prefix.
func (q *bucketQuery) run(prefix uint32, width int) {
	first := prefix << (32 - width)
	q.scan(q.view.Between(first, first|(1<<(32-width)-1)))
}

// scan compares postings from…to of the bucket, the newest of equals first.
func (q *bucketQuery) scan(from, to int) {
	query, max, hi := uint32(q.query>>16), q.max, q.view.Hi[from:to]
	for i := len(hi) - 1; i >= 0; i-- {
		if bits.OnesCount32(hi[i]^query) <= max {
			q.compare(from + i)
		}
	}
}

// compare reports posting i if it is near enough and this is its band.
func (q *bucketQuery) compare(i int) {
	x := uint64(q.view.Hi[i])<<16 | uint64(q.view.Lo(i))
	x ^= q.query & (1<<48 - 1)
	distance := bits.OnesCount64(x)
	if distance > q.max || home(buckets.Rotate(x, bandCount-q.band)) != q.band {
		return
	}
	if ordinal, ok := q.view.Ordinal(i); ok {
		fp := buckets.Rotate(q.query^x, bandCount-q.band)
		q.found(Hit{simhash.Fingerprint(fp), ordinal}, distance)
	}
}

// home is the band in which a look-up reports a posting that differs from the
// query by x, of at most MaxDistance bits: the first whole band that is
// followed by one with at most one flip. There is always one: else every whole
// band were followed by two flips or more, so of three flips only one band
// could be whole, one would hold two, and the other two one each, which makes
// four.
func home(x uint64) int {
	for band := range bandCount {
		r := buckets.Rotate(x, band)
		if r>>48 == 0 && bits.OnesCount16(uint16(r>>32)) <= 1 {
			return band
		}
	}
	panic("bands: more than three bits differ")
}
