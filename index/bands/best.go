package bands

import (
	"cmp"
	"math"
	"slices"

	"jianguo/simhash"
)

// best keeps the limit hits of the smallest score, of equals the newest.
type best struct {
	limit int
	hits  []scored // fewer than twice the limit; once cut, hit limit-1 is the worst of the first limit
	cut   bool     // some were left out
	worst float32  // above this no hit is taken any more
}

// scored is a hit. The smaller rank is the better: its upper half is the score,
// which is not negative, as it lies in memory, the lower the ordinal's complement.
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

// prune drops who is beyond the limit: a few comparisons a hit in all.
func (b *best) prune() {
	if len(b.hits) <= b.limit {
		return
	}
	last := b.limit - 1
	for lo, hi := 0, len(b.hits)-1; lo < hi; { // as nth does
		pivot, i, j := b.hits[lo+(hi-lo)/2].rank, lo, hi
		for i <= j {
			for b.hits[i].rank < pivot {
				i++
			}
			for b.hits[j].rank > pivot {
				j--
			}
			if i <= j {
				b.hits[i], b.hits[j] = b.hits[j], b.hits[i]
				i, j = i+1, j-1
			}
		}
		switch {
		case last <= j:
			hi = j
		case last >= i:
			lo = i
		default:
			lo, hi = last, last
		}
	}
	b.hits, b.cut = b.hits[:b.limit], true
	b.worst = math.Float32frombits(uint32(b.hits[last].rank >> 32))
}

// appendTo appends the hits, best first unless there is no limit.
func (b *best) appendTo(dst []Hit) (hits []Hit, cut bool) {
	if b.limit < math.MaxInt {
		b.prune()
		slices.SortFunc(b.hits, func(x, y scored) int { return cmp.Compare(x.rank, y.rank) })
	}
	dst = slices.Grow(dst, len(b.hits))
	for _, s := range b.hits {
		dst = append(dst, Hit{s.fingerprint, ^uint32(s.rank)})
	}
	return dst, b.cut
}
