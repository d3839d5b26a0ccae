package bands

import (
	"math/bits"

	"jianguo/index/bands/buckets"
	"jianguo/simhash"
)

// MaxDistance is the largest distance within which Hamming misses nothing.
const MaxDistance = bandCount - 1

// Hamming appends to dst the postings at distance ≤ max of fp, each once. max is
// 0…MaxDistance: it finds nothing beyond. Of more than limit it appends the nearest,
// and of those at one distance the newest (the highest ordinals), best first.
func (b *Bands) Hamming(dst []Hit, fp simhash.Fingerprint, max, limit int) []Hit {
	if max = min(max, MaxDistance); max < 0 || limit <= 0 {
		return dst
	}
	var nearest best
	nearest.reset(limit)
	var views [bandCount]buckets.View
	for band, t := range b.bands {
		views[band] = t.Bucket(uint16(rotate(uint64(fp), band) >> 48))
	}
	for band := range views {
		views[band].Prefetch()
	}
	for band := range views {
		v, query := &views[band], rotate(uint64(fp), band)
		for i, hi := range v.Hi {
			if bits.OnesCount32(hi^uint32(query>>16)) > max {
				continue
			}
			x := rotate((uint64(hi)<<16|uint64(v.Lo(i)))^query&(1<<48-1), bandCount-band)
			distance := bits.OnesCount64(x)
			if distance > max || home(x) != band {
				continue
			}
			if ordinal, ok := b.ordinal(v, i); ok {
				nearest.add(Hit{fp ^ simhash.Fingerprint(x), ordinal}, float32(distance))
			}
		}
		v.KeepAlive()
	}
	return nearest.appendTo(dst)
}

// home is the band in which a look-up reports a posting that differs from the query by x: the
// first that is whole. Of MaxDistance flips there is always one.
func home(x uint64) (band int) {
	for rotate(x, band)>>48 != 0 {
		band++
	}
	return band
}
