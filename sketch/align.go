package sketch

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
	w.renames = w.renames[:0]
	end := int32(0)
	first, last := int32(len(w.c.tokens)), int32(0)
	before := int32(0)
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
		w.gap(l, span{end, x.q}, span{before, x.c})
		end, before = x.q+x.n, x.c+x.n
	}
	tail := len(w.q.tokens) - int(end)
	l.RestA += tail
	l.LumpA = max(l.LumpA, tail)
	if len(w.runs) > 0 {
		w.gap(l, span{end, int32(len(w.q.tokens))}, span{before, int32(len(w.c.tokens))})
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
