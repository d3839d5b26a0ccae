package sketch

// run is a maximal stretch of equal tokens.
type run struct{ q, c, n int32 }

// chainMost bounds how many places of the earlier text are tried for a run.
const chainMost = 16

// align cuts the query into runs found in the earlier text, greedily from the
// left: at each place the longest run that starts there, the continuation of
// the last one where it is as long.
func (w *workspace) align(k int) {
	q, c := w.q.tokens, w.c.tokens
	w.runs = w.runs[:0]
	expect := int32(0)
	skip := 0
	for at, id := range w.q.shingles {
		if at < skip || w.first[id] < 0 {
			continue
		}
		best := run{q: int32(at), c: expect, n: int32(extend(q[at:], c[min(int(expect), len(c)):]))}
		for p, tries := w.first[id], 0; p >= 0 && tries < chainMost; p, tries = w.chain[p], tries+1 {
			n := int32(extend(q[at:], c[p:]))
			if n > best.n || n == best.n && (p >= expect) && (best.c < expect || p < best.c) {
				best.c, best.n = p, n
			}
		}
		if best.n < int32(k) {
			continue
		}
		w.runs = append(w.runs, best)
		skip = at + int(best.n)
		expect = best.c + best.n
	}
}

func extend(a, b []token) int {
	n := min(len(a), len(b))
	for i := range n {
		if a[i].hash != b[i].hash {
			return i
		}
	}
	return n
}

// swapMost bounds the gap that still counts as something swapped in place.
const swapMost = 60

// layout reads the runs.
func (w *workspace) layout(r *Comparison) {
	l := &r.Layout
	if n := len(w.c.tokens); cap(w.covered) < n {
		w.covered = make([]bool, n)
	} else {
		w.covered = w.covered[:n]
		clear(w.covered)
	}
	l.Runs = len(w.runs)
	end := int32(0)
	first, last := int32(len(w.c.tokens)), int32(0)
	for i, x := range w.runs {
		first, last = min(first, x.c), max(last, x.c+x.n)
		if i > 0 && x.c < w.runs[i-1].c {
			l.Moved++
		}
		l.Longest = max(l.Longest, int(x.n))
		gap := int(x.q - end)
		l.RestA += gap
		l.LumpA = max(l.LumpA, gap)
		for j := x.c; j < x.c+x.n; j++ {
			w.covered[j] = true
		}
		before := int32(0)
		if i > 0 {
			before = w.runs[i-1].c + w.runs[i-1].n
		}
		if other := int(x.c - before); gap > 0 && other > 0 && gap <= swapMost && other <= swapMost {
			l.Swaps++
			l.SwapA += gap
			l.SwapB += other
			if w.foreign(span{end, x.q}, span{before, x.c}) {
				l.Foreign += min(gap, other)
				w.conflict = append(w.conflict, spot{span{end, x.q}, span{before, x.c}})
			}
		}
		end = x.q + x.n
	}
	tail := len(w.q.tokens) - int(end)
	l.RestA += tail
	l.LumpA = max(l.LumpA, tail)
	if len(w.runs) > 0 {
		l.AmidA, l.AmidB = w.q.novelWithin(w.runs[0].q, end), w.c.novelWithin(first, last)
	}
	stretch := 0
	for _, in := range w.covered {
		if in {
			stretch = 0
			continue
		}
		stretch++
		l.RestB++
		l.LumpB = max(l.LumpB, stretch)
	}
}

// foreignMost bounds what may be a name standing for a name.
const foreignMost = 16

// foreign reports whether both sides of a swap are of some length and say what
// the other text says nowhere: another name in the same place, not another
// wording.
func (w *workspace) foreign(q, c span) bool {
	nq, nc := q.to-q.from, c.to-c.from
	if min(nq, nc) < softK || max(nq, nc) > foreignMost {
		return false
	}
	for _, id := range w.q.pairs[q.from : q.to-1] {
		if w.inC[id] > 0 {
			return false
		}
	}
	for _, id := range w.c.pairs[c.from : c.to-1] {
		if id >= 0 {
			return false
		}
	}
	return true
}
