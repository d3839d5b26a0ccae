package bands

import (
	"cmp"
	"math"
	"math/bits"
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
func (b *best) appendTo(dst []Hit) (hits []Hit, cut bool) {
	if b.limit < math.MaxInt {
		b.prune()
	}
	dst = slices.Grow(dst, len(b.hits))
	for _, s := range b.hits {
		dst = append(dst, Hit{s.fingerprint, ^uint32(s.rank)})
	}
	return dst, b.cut
}

// Reach tells of any fingerprint whether an earlier margin look-up would have found
// it. The result of a look-up is brought up to date by asking its Reach about every
// fingerprint that was added since.
type Reach struct {
	print    simhash.Print
	maxS     float32
	limit    uint32 // 0: nothing is found
	unprobed subset
	probes   int
	costs    [simhash.Bits]uint32 // of flipping each bit, as margin has them
	// heavy[i] are the bits that cost at least maxS/16, /8, /4 and /2.
	heavy [4]uint64
}

// Holds reports whether the same look-up would have the same reach now: it has fewer probes
// when the index grows past Config.Full.
func (r *Reach) Holds(b *Bands) bool { return r.probes == b.probes() }

// Meets reports whether the look-up would have found fp, and at which S.
func (r *Reach) Meets(fp simhash.Fingerprint) (s float32, ok bool) {
	x := uint64(fp ^ r.print.Fingerprint)
	// Four counts exclude nearly every unrelated fingerprint: S is at least so many
	// sixteenths of maxS. One more is for rounding.
	if least := bits.OnesCount64(x&r.heavy[0]) + bits.OnesCount64(x&r.heavy[1]) + 2*bits.OnesCount64(x&r.heavy[2]) +
		4*bits.OnesCount64(x&r.heavy[3]); least > 16 || r.limit == 0 {
		return 0, false
	}
	s = r.print.S(fp)
	return s, s < r.maxS && r.home(x)
}

// home is margin.home, without its tables.
func (r *Reach) home(x uint64) bool {
	var costs [bandCount]uint32
	for y := x; y != 0; y &= y - 1 {
		bit := bits.TrailingZeros64(y)
		costs[bandCount-1-bit/bandBits] += r.costs[bit]
	}
	for band := range bandCount {
		flips := uint16(x >> (bandBits * (bandCount - 1 - band)))
		if subset(costs[band])<<18|subset(band)<<16|subset(flips) >= r.unprobed {
			continue
		}
		sum := costs[band] + costs[(band+1)%bandCount]
		if sum < r.limit/2 && sum+costs[(band+2)%bandCount] < r.limit/4*3 {
			return true
		}
	}
	return false
}
