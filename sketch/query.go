package sketch

import (
	"slices"
	"strings"
	"unicode/utf8"
)

// Query is a text that is compared with several earlier ones: what there is to
// know of it alone is worked out once. It is not safe for concurrent use, and
// refers to the text's strings until Close.
type Query struct{ w *workspace }

// NewQuery prepares a text. Close gives its memory back.
func NewQuery(in Input) Query {
	w := workspaces.Get().(*workspace)
	w.q.read(&in)
	w.q.digest()
	w.k, w.kPairs = -1, -1
	return Query{w}
}

// Close ends the use of a Query.
func (q Query) Close() { q.w.release() }

// Compare measures on the texts themselves.
func (q Query) Compare(c Input) Comparison {
	r := q.w.overlaps(&c)
	q.w.measure(&r)
	return r
}

// Judge compares and judges as Compare and then Judge do, but for this: of a
// text that has too little in common to be more than Unrelated, no more is
// measured than that.
func (q Query) Judge(c Input, s float32, t Thresholds) (Comparison, Judgement) {
	r := q.w.overlaps(&c)
	if r.little(&t) {
		return r, Judgement{Reason: LittleText}
	}
	q.w.measure(&r)
	return r, Judge(r, s, t)
}

// CompareTexts measures on the texts themselves; q is the later one.
func CompareTexts(q, c Input) Comparison {
	x := NewQuery(q)
	defer x.Close()
	return x.Compare(c)
}

// read takes a text in.
func (s *side) read(in *Input) {
	s.in, s.text = *in, in.text()
	s.tokens = appendTokens(s.tokens[:0], s.text)
}

// digest works out what is measured of a text alone.
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
}

// overlaps measures how much the query and c have in common, and numbers their
// grams for measure.
func (w *workspace) overlaps(c *Input) Comparison {
	w.c.read(c)
	r := Comparison{Exact: true, TokensA: len(w.q.tokens), TokensB: len(w.c.tokens)}
	if r.TokensA == 0 || r.TokensB == 0 {
		return r
	}
	if k := min(shingleK, r.TokensA, r.TokensB); w.k != k {
		w.q.shingles, w.first = w.number(&w.shingles, k, w.q.shingles, w.first) // how many is not asked of these
		w.k = k
	}
	r.Resemblance, r.ContainedA, r.ContainedB = w.shared()
	return r
}

// number numbers the grams of the query, and counts each.
func (w *workspace) number(g *grams, k int, ids, counts []int32) (numbered, counted []int32) {
	tokens := w.q.tokens
	g.reset(len(tokens))
	ids, counts = ids[:0], counts[:0]
	sh := newShingler(k)
	for i := range tokens {
		h, ok := sh.next(tokens, i)
		if !ok {
			continue
		}
		id, fresh := g.put(h)
		if fresh {
			counts = append(counts, 0)
		}
		counts[id]++
		ids = append(ids, id)
	}
	return ids, counts
}

// shared counts distinct shingles and chains their places in the earlier text.
func (w *workspace) shared() (j, inQ, inC float32) {
	c := w.c.tokens
	w.others.reset(len(c))
	w.first = fill(w.first, w.shingles.used, -1)
	w.chain = w.chain[:0]
	both := 0
	sh := newShingler(w.k)
	for i := range c {
		h, ok := sh.next(c, i)
		if !ok {
			continue
		}
		at, before := int32(len(w.chain)), int32(-1)
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

// sharedPairs does the same of pairs, and counts them.
func (w *workspace) sharedPairs() (inQ, inC float32) {
	q, c := w.q.tokens, w.c.tokens
	if k := min(softK, len(q), len(c)); w.kPairs != k {
		w.q.pairs, w.inQ = w.number(&w.pairs, k, w.q.pairs, w.inQ)
		w.kPairs = k
		w.sayings(&w.q, w.pairInQ)
	}
	w.others.reset(len(c))
	w.inC = fill(w.inC, w.pairs.used, 0)
	w.c.pairs, w.othersIn = w.c.pairs[:0], w.othersIn[:0]
	both := 0
	sh := newShingler(w.kPairs)
	for i := range c {
		h, ok := sh.next(c, i)
		if !ok {
			continue
		}
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
	w.sayings(&w.c, w.pairInC)
	_, inQ, inC = shares(both, w.pairs.used, both+w.others.used)
	return inQ, inC
}

// shares are resemblance and containments of two sets, given the sizes of what
// they share and of each.
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

// pairIn counts a pair of tokens in each of the two texts.
func (w *workspace) pairIn(h uint64) (inQ, inC int32) {
	if id := w.pairs.find(h); id >= 0 {
		return w.inQ[id], w.inC[id]
	}
	if id := w.others.find(h); id >= 0 {
		return 0, w.othersIn[id]
	}
	return 0, 0
}

func (w *workspace) pairInQ(h uint64) bool { return w.pairs.find(h) >= 0 }

func (w *workspace) pairInC(h uint64) bool {
	_, inC := w.pairIn(h)
	return inC > 0
}

// lacks reports whether a text is sure to lack a word, given whether it has a
// pair of tokens. It knows only of words that begin with two characters that
// are tokens wherever they stand.
func (w *workspace) lacks(word string, has func(h uint64) bool) bool {
	a, n := utf8.DecodeRuneInString(word)
	b, m := utf8.DecodeRuneInString(word[n:])
	if w.kPairs < softK || n < 2 || m < 2 || numeral(a) || numeral(b) {
		return false
	}
	return !has(pairHash([]token{{hash: hanHash(a)}, {hash: hanHash(b)}}))
}

// numeral reports whether a character may be part of a figure.
func numeral(r rune) bool { return hanDigit(r) >= 0 || hanPower(r) > 0 }

// sayings fills says: which of developments a text has.
func (w *workspace) sayings(s *side, has func(h uint64) bool) {
	for i, word := range developments {
		s.says[i] = !w.lacks(word, has) && strings.Contains(s.text, word)
	}
}
