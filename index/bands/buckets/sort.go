package buckets

import (
	"cmp"
	"slices"
)

// merge writes the live postings of v to the slots from at, sorted by their 48 lower
// key bits. Equal keys keep their order.
func (p *page) merge(at uint32, v View) {
	var sorted, tail []Posting
	for i, o := range v.ordinals() {
		switch {
		case o == dead:
		case i < v.Sorted:
			sorted = append(sorted, Posting{v.low(i), o})
		default:
			tail = append(tail, Posting{v.low(i), o})
		}
	}
	slices.SortStableFunc(tail, func(a, b Posting) int { return cmp.Compare(a.Key, b.Key) })
	for len(sorted)+len(tail) > 0 {
		var q Posting
		if len(tail) == 0 || len(sorted) > 0 && sorted[0].Key <= tail[0].Key {
			q, sorted = sorted[0], sorted[1:]
		} else {
			q, tail = tail[0], tail[1:]
		}
		p.put(at, q.Key, q.Ordinal)
		at++
	}
}
