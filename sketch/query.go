package sketch

import "slices"

// Query is a text that is compared with several earlier ones; what depends on it alone is computed once. It is
// not safe for concurrent use, and refers to the text's strings until Close.
type Query struct{ w *workspace }

// NewQuery prepares a text. The caller closes the Query.
func NewQuery(in Input) Query {
	w := workspaces.Get().(*workspace)
	w.q.read(&in)
	w.k, w.kPairs, w.digested = -1, -1, false
	return Query{w}
}

// Close releases the memory of a Query.
func (q Query) Close() { q.w.release() }

// Judge is Align and then the function Judge. Of texts that have little in common it measures only resemblance,
// containment and sizes, and aligns nothing.
func (q Query) Judge(c Input, t Thresholds) (*Alignment, Judgement) {
	x := &Alignment{Comparison: q.w.overlaps(&c)}
	if !x.little(&t) {
		x.align(q.w)
	}
	return x, Judge(x.Comparison, t)
}

// read sets a text.
func (s *side) read(in *Input) {
	s.in, s.text = *in, in.text()
	s.buffer = appendTokens(s.buffer[:0], s.text)
	s.tokens = s.buffer
	s.drop()
	s.trim()
}

// digest computes what depends on a text alone.
func (s *side) digest() {
	in := &s.in
	s.head = appendTokens(s.head[:0], in.Title)
	s.head = s.head[:min(len(s.head), headMost)]
	s.words = appendWords(s.words[:0], s.tokens)
	s.known = append(s.known[:0], s.words...)
	if !in.headed() {
		s.known = appendWords(s.known, s.head)
	}
	s.said = s.appendFacts(s.said[:0], s.tokens)
	s.dated = s.appendFacts(s.dated[:0], s.before)
	s.names = append(s.names[:0], in.Names[:min(len(in.Names), nameMost)]...)
	slices.Sort(s.names)
	s.spots = s.spotted(s.spots[:0])
}

// overlaps measures how much the query and c have in common, and numbers the shingles for measure.
func (w *workspace) overlaps(c *Input) Comparison {
	w.c.read(c)
	r := Comparison{Exact: true, TokensA: len(w.q.tokens), TokensB: len(w.c.tokens)}
	if r.TokensA == 0 || r.TokensB == 0 {
		w.chain = w.chain[:0] // of an earlier pair
		return r
	}
	if k := min(shingleK, r.TokensA, r.TokensB); w.k != k {
		w.q.shingles, w.first = w.number(&w.shingles, k, w.q.shingles, w.first) // the counts are not used
		w.k = k
	}
	r.Resemblance, r.ContainedA, r.ContainedB = w.shared()
	return r
}
