package sketch

import "slices"

// number numbers the shingles of the query, and counts each one.
func (w *workspace) number(g *grams, k int, ids, counts []int32) (numbered, counted []int32) {
	tokens := w.q.tokens
	g.reset(len(tokens))
	ids, counts = ids[:0], counts[:0]
	for h := range shingles(tokens, k) {
		id, fresh := g.put(h)
		if fresh {
			counts = append(counts, 0)
		}
		counts[id]++
		ids = append(ids, id)
	}
	return ids, counts
}

// shared compares the distinct shingles of both texts, and chains their offsets in the earlier text.
func (w *workspace) shared() (j, inQ, inC float32) {
	c := w.c.tokens
	w.others.reset(len(c))
	w.first = fill(w.first, w.shingles.used, -1)
	w.chain = w.chain[:0]
	both := 0
	for h := range shingles(c, w.k) {
		at, before := int32(len(w.chain)), int32(unknown)
		if id := w.shingles.find(h); id >= 0 {
			if before = w.first[id]; before < 0 {
				both++
			}
			w.first[id] = at
		} else {
			w.others.put(h)
		}
		w.chain = append(w.chain, before)
	}
	return shares(both, w.shingles.used, both+w.others.used)
}

// sharedPairs compares the distinct pairs of both texts, and counts how often each text has them.
func (w *workspace) sharedPairs() (inQ, inC float32) {
	q, c := w.q.tokens, w.c.tokens
	if k := min(softK, len(q), len(c)); w.kPairs != k {
		w.q.pairs, w.inQ = w.number(&w.pairs, k, w.q.pairs, w.inQ)
		w.kPairs = k
	}
	w.others.reset(len(c))
	w.inC = fill(w.inC, w.pairs.used, 0)
	w.c.pairs, w.othersIn = w.c.pairs[:0], w.othersIn[:0]
	both := 0
	for h := range shingles(c, w.kPairs) {
		id := w.pairs.find(h)
		if id >= 0 {
			if w.inC[id] == 0 {
				both++
			}
			w.inC[id]++
		} else {
			other, fresh := w.others.put(h)
			if fresh {
				w.othersIn = append(w.othersIn, 0)
			}
			w.othersIn[other]++
		}
		w.c.pairs = append(w.c.pairs, id)
	}
	_, inQ, inC = shares(both, w.pairs.used, both+w.others.used)
	return inQ, inC
}

// echo is Layout.Echo.
func (w *workspace) echo() float32 {
	n := 0
	for id, k := range w.inQ {
		if w.inC[id] > k {
			n++
		}
	}
	return float32(n) / float32(max(1, len(w.inQ)))
}

// shares are resemblance and containments of two sets, given the size of what they share and of each.
func shares(both, q, c int) (j, inQ, inC float32) {
	return float32(both) / float32(max(1, q+c-both)), float32(both) / float32(max(1, q)), float32(both) / float32(max(1, c))
}

func fill(s []int32, n int, v int32) []int32 {
	s = slices.Grow(s[:0], n)[:n]
	for i := range s {
		s[i] = v
	}
	return s
}
