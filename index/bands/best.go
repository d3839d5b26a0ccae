package bands

import (
	"cmp"
	"math"
	"slices"
)

// best keeps the limit hits of the smallest score, of equals the newest.
type best struct {
	limit int
	hits  []scored // fewer than twice the limit; once cut, the first limit are in order
	cut   bool     // some were left out
	worst float32  // above this no hit is taken any more
}

type scored struct {
	Hit
	score float32
}

func (b *best) reset(limit int) {
	*b = best{limit: limit, hits: b.hits[:0], worst: math.MaxFloat32}
}

func better(x, y scored) int {
	return cmp.Or(cmp.Compare(x.score, y.score), cmp.Compare(y.Ordinal, x.Ordinal))
}

func (b *best) add(h Hit, score float32) {
	s := scored{h, score}
	if b.cut && better(s, b.hits[b.limit-1]) > 0 {
		return
	}
	b.hits = append(b.hits, s)
	if len(b.hits)/2 >= b.limit {
		b.prune()
	}
}

// prune sorts, a logarithm a hit in all, and drops who is beyond the limit.
func (b *best) prune() {
	slices.SortFunc(b.hits, better)
	if len(b.hits) > b.limit {
		b.hits, b.cut = b.hits[:b.limit], true
		b.worst = b.hits[b.limit-1].score
	}
}

// appendTo appends the hits, best first unless there is no limit.
func (b *best) appendTo(dst []Hit) (hits []Hit, cut bool) {
	if b.limit < math.MaxInt {
		b.prune()
	}
	dst = slices.Grow(dst, len(b.hits))
	for _, s := range b.hits {
		dst = append(dst, s.Hit)
	}
	return dst, b.cut
}
