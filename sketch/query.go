package sketch

import "slices"

// Query is a text that is compared with several earlier ones; what depends on it alone is computed once. It is
// not safe for concurrent use, and refers to the text's strings until Close.
type Query struct{ w *workspace }

// NewQuery prepares a text. The caller closes the Query.
func NewQuery(in Input) Query {
	w := workspaces.Get().(*workspace)
	w.q.read(&in)
	w.q.digest()
	w.k, w.kPairs = -1, -1
	return Query{w}
}

// Close releases the memory of a Query.
func (q Query) Close() { q.w.release() }

// Compare measures the query and an earlier text.
func (q Query) Compare(c Input) Comparison {
	r := q.w.overlaps(&c)
	q.w.measure(&r)
	return r
}

// Judge is Compare and then the function Judge, except that of an Unrelated text only resemblance, containment
// and sizes are measured.
func (q Query) Judge(c Input, s float32, t Thresholds) (Comparison, Judgement) {
	r := q.w.overlaps(&c)
	if r.little(&t) {
		return r, Judgement{Reason: LittleText}
	}
	q.w.measure(&r)
	return r, Judge(r, s, t)
}

// CompareTexts measures two texts; q is the later one.
func CompareTexts(q, c Input) Comparison {
	x := NewQuery(q)
	defer x.Close()
	return x.Compare(c)
}

// read sets a text.
func (s *side) read(in *Input) {
	s.in, s.text = *in, in.text()
	s.tokens = appendTokens(s.tokens[:0], s.text)
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
	s.facts = appendFacts(s.facts[:0], s.tokens)
	s.placed = append(s.placed[:0], s.facts...)
	slices.SortStableFunc(s.placed, func(a, b fact) int { return int(a.place) - int(b.place) })
	s.numbers = distinct(s.numbers[:0], s.facts)
	s.names = append(s.names[:0], in.Names[:min(len(in.Names), nameMost)]...)
	slices.Sort(s.names)
	s.sayings()
}

// overlaps measures how much the query and c have in common, and numbers the shingles for measure.
func (w *workspace) overlaps(c *Input) Comparison {
	w.c.read(c)
	r := Comparison{Exact: true, TokensA: len(w.q.tokens), TokensB: len(w.c.tokens)}
	if r.TokensA == 0 || r.TokensB == 0 {
		return r
	}
	if k := min(shingleK, r.TokensA, r.TokensB); w.k != k {
		w.q.shingles, w.first = w.number(&w.shingles, k, w.q.shingles, w.first) // the counts are not used
		w.k = k
	}
	r.Resemblance, r.ContainedA, r.ContainedB = w.shared()
	return r
}

// measure fills in all but what overlaps has filled in: resemblance, containment and sizes.
func (w *workspace) measure(r *Comparison) {
	if r.TokensA == 0 || r.TokensB == 0 {
		return
	}
	w.c.digest()
	r.SoftA, r.SoftB = w.sharedPairs()
	r.Layout.NovelA = w.novel(&w.q, func(pair int32) bool { return w.inC[pair] > 0 })
	r.Layout.BlockA = w.q.novelBlock()
	r.Layout.NovelB = w.novel(&w.c, func(pair int32) bool { return pair >= 0 })
	r.Layout.Echo = w.echo()
	w.heads(r)
	q, c := &w.q, &w.c
	r.Layout.SameBody = (q.in.Title == "") != (c.in.Title == "") && q.in.Body == c.in.Body && min(len(q.tokens), len(c.tokens)) >= bodyTokens
	w.align(min(shingleK, len(w.q.tokens), len(w.c.tokens)))
	w.layout(r)
	w.compareFacts(r)
	w.compareNames(r)
	if q, c := w.q.in.Published, w.c.in.Published; q > 0 && c > 0 {
		r.Days = int(max(q-c, c-q))
	}
	for i := range developments {
		if w.q.says[i] != w.c.says[i] {
			r.Layout.Developments++
		}
	}
}

// bodyTokens is the least length of a body that makes two texts the same where only one has a headline.
const bodyTokens = 16

// nameMost bounds the names of a text that are compared.
const nameMost = 256
