package sketch

import "slices"

// chainMost bounds how many offsets of the earlier text are tried for a run.
const chainMost = 16

// align finds runs of the query in the earlier text, greedily from the left: at each token the longest run that
// begins there; among runs of equal length the one that continues the last run, or the first one behind it.
func (w *workspace) align(k int) {
	q, c := w.q.tokens, w.c.tokens
	w.runs = w.runs[:0]
	expect := int32(0)
	skip := 0
	for i, id := range w.q.shingles {
		if i < skip || w.first[id] < 0 {
			continue
		}
		best := run{q: int32(i), c: expect, n: commonPrefix(q[i:], c[min(int(expect), len(c)):])}
		for p, tries := w.first[id], 0; p >= 0 && tries < chainMost; p, tries = w.chain[p], tries+1 {
			n := commonPrefix(q[i:], c[p:])
			if n > best.n || n == best.n && p >= expect && (best.c < expect || p < best.c) {
				best.c, best.n = p, n
			}
		}
		if best.n < int32(k) {
			continue
		}
		w.runs = append(w.runs, best)
		skip = i + int(best.n)
		expect = best.c + best.n
	}
}

// commonPrefix is the number of tokens that both texts begin with.
func commonPrefix(a, b []token) int32 {
	n := min(len(a), len(b))
	for i := range n {
		if a[i].hash != b[i].hash {
			return int32(i)
		}
	}
	return int32(n)
}

// layout fills r.Layout from the runs and what lies between them.
func (w *workspace) layout(r *Comparison) {
	l := &r.Layout
	l.Runs = len(w.runs)
	l.RestA = len(w.q.tokens)
	w.covered = slices.Grow(w.covered[:0], len(w.c.tokens))[:len(w.c.tokens)]
	clear(w.covered)
	w.renames = w.renames[:0]
	last := run{}
	first, end := int32(len(w.c.tokens)), int32(0) // of all runs, in the earlier text
	for i, x := range w.runs {
		first, end = min(first, x.c), max(end, x.c+x.n)
		if i > 0 && x.c < last.c {
			l.Moved++
		}
		l.Longest = max(l.Longest, int(x.n))
		l.RestA -= int(x.n)
		for j := x.c; j < x.c+x.n; j++ {
			w.covered[j] = true
		}
		w.gap(l, span{last.q + last.n, x.q}, span{last.c + last.n, x.c})
		last = x
	}
	if len(w.runs) > 0 {
		w.gap(l, span{last.q + last.n, int32(len(w.q.tokens))}, span{last.c + last.n, int32(len(w.c.tokens))})
		l.AmidA, l.AmidB = w.q.novelWithin(w.runs[0].q, last.q+last.n), w.c.novelWithin(first, end)
	}
	for _, covered := range w.covered {
		if !covered {
			l.RestB++
		}
	}
}
