package indexbench

import (
	"math"

	"jianguo/index"
	"jianguo/index/bands"
	"jianguo/index/resident"
	"jianguo/simhash"
)

// lookups are the look-ups of judging, one at a time.
type lookups struct {
	index.Probe
	policy index.Policy
}

func (b *run) probe() lookups { return lookups{b.x.Probe(), b.x.Policy()} }

// hamming is the look-up of the proposals `hamming`; it returns how many.
func (l lookups) hamming(q *simhash.Print) int {
	var buf [64]bands.Hit
	return len(l.Bands.Hamming(buf[:0], q.Fingerprint, 3))
}

// margin is the look-up of the proposals `margin`; it returns how many.
func (l lookups) margin(q *simhash.Print) int {
	var buf [64]bands.Hit
	hits, _ := l.Bands.Margin(buf[:0], q, l.policy.MaxS, l.policy.Judged, nil)
	return len(hits)
}

// within returns the exemplars that the margin look-up finds at S < s.
func (l lookups) within(q *simhash.Print, s float32) []simhash.Fingerprint {
	var found []simhash.Fingerprint
	all, _ := l.Bands.Margin(nil, q, l.policy.MaxS, math.MaxInt, nil)
	for _, h := range all {
		if q.S(h.Fingerprint) < s {
			found = append(found, h.Fingerprint)
		}
	}
	return found
}

// exemplar reports whether the version with an ordinal is one.
func (l lookups) exemplar(ordinal uint32) bool {
	return l.Rows.Flags(ordinal)&resident.Exemplar != 0
}
