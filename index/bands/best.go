package bands

import (
	"cmp"
	"math"
	"slices"

	"jianguo/simhash"
)

// best keeps the limit hits with the smallest score, the newest (highest ordinal) of
// equals.
type best struct {
	limit int
	hits  []scored // fewer than twice the limit
	cut   bool     // some were left out; hits[:limit] are sorted then
	worst float32  // a hit with a higher score is not kept
}

// scored is a hit. The upper half of rank is the score, which is not negative, so
// that its bits order as it does; the lower half is the complement of the ordinal.
type scored struct {
	rank        uint64
	fingerprint simhash.Fingerprint
}

func (b *best) reset(limit int) {
	*b = best{limit: limit, hits: b.hits[:0], worst: math.MaxFloat32}
}

func (b *best) add(h Hit, score float32) {
	s := scored{uint64(math.Float32bits(score))<<32 | uint64(^h.Ordinal), h.Fingerprint}
	if b.cut && s.rank > b.hits[b.limit-1].rank {
		return
	}
	b.hits = append(b.hits, s)
	if len(b.hits)/2 >= b.limit {
		b.prune()
	}
}

// prune drops the hits beyond the limit.
func (b *best) prune() {
	slices.SortFunc(b.hits, func(x, y scored) int { return cmp.Compare(x.rank, y.rank) })
	if len(b.hits) > b.limit {
		b.hits, b.cut = b.hits[:b.limit], true
		b.worst = math.Float32frombits(uint32(b.hits[b.limit-1].rank >> 32))
	}
}

// appendTo appends the hits to dst, best first unless there is no limit.
func (b *best) appendTo(dst []Hit) []Hit {
	if b.limit < math.MaxInt {
		b.prune()
	}
	dst = slices.Grow(dst, len(b.hits))
	for _, s := range b.hits {
		dst = append(dst, Hit{s.fingerprint, ^uint32(s.rank)})
	}
	return dst
}
