package sketch

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
