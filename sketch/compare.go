package sketch

import (
	"slices"
	"strings"
)

// Comparison is how a query and an earlier text go together.
type Comparison struct {
	Resemblance float32 // Jaccard of shingles, 0…1
	ContainedA  float32 // share of the query's shingles that the earlier text has
	ContainedB  float32 // share of the earlier text's shingles that the query has
	// SoftA and SoftB are the same over pairs of tokens: rewording lowers them
	// little, other content much.
	SoftA, SoftB float32
	Facts        Facts
	// TokensA and TokensB are the sizes of the texts.
	TokensA, TokensB int
	// Days is how many days apart they were published; 0 where that is not known.
	Days int
	// Layout is how the equal runs lie; only from Compare with texts.
	Layout Layout
	Exact  bool // measured on the texts, not estimated from sketches
}

// Layout describes the alignment of two texts, in tokens.
type Layout struct {
	Runs    int // maximal equal runs
	Longest int // the longest of them
	// Swaps counts the places between two runs that follow each other in both
	// texts where each has something of its own; SwapA and SwapB are their sizes.
	Swaps, SwapA, SwapB int
	// Foreign is the size of the swaps of which neither side stands anywhere in
	// the other text, each by its smaller side.
	Foreign int
	// RestA and RestB are tokens in no run; LumpA and LumpB the longest stretch
	// of them.
	RestA, RestB, LumpA, LumpB int
	// NovelA and NovelB are tokens in clauses that the other text does not have
	// even in other words: most of their token pairs stand nowhere in it.
	NovelA, NovelB int
	// AmidA and AmidB are those of them between the first run and the last.
	AmidA, AmidB int
	// Moved counts the runs that begin before the last one in the earlier text.
	Moved int
	// Developments counts the words that speak of a story moving on (此前, 最新,
	// 回应 and such) and stand in one of the texts only.
	Developments int
	// HeadA and HeadB are the shares of token pairs of one text's headline (its
	// opening where it has none) that the other text has anywhere.
	HeadA, HeadB float32
	Topics       Topics
}

// Compare estimates from two sketches; q is the later text.
func Compare(q, c *Sketch) Comparison {
	r := Comparison{TokensA: int(q.Tokens), TokensB: int(c.Tokens)}
	if q.Tokens == 0 || c.Tokens == 0 {
		return r
	}
	j := estimate(q.mins[:], c.mins[:])
	r.Resemblance = float32(j)
	r.ContainedA, r.ContainedB = containment(j, q.shingles, c.shingles)
	r.SoftA, r.SoftB = containment(estimate(q.softMins[:], c.softMins[:]), q.soft, c.soft)
	if n := min(q.figures, c.figures); n > 0 {
		shared := estimate(q.figureMins[:], c.figureMins[:])
		shared = shared / (1 + shared) * float64(q.figures+c.figures)
		r.Facts.Numbers = int(n)
		r.Facts.NumbersShared = min(int(n), int(shared+.5))
		r.Facts.OnlyA = int(q.figures) - r.Facts.NumbersShared
		r.Facts.OnlyB = int(c.figures) - r.Facts.NumbersShared
	}
	for i, k := 0, 0; i < int(q.nslots) && k < int(c.nslots); {
		switch a, b := q.slots[i], c.slots[k]; {
		case a.place < b.place:
			i++
		case a.place > b.place:
			k++
		default:
			if a.value == b.value {
				r.Facts.SameSlot++
			} else {
				r.Facts.OtherSlot++
			}
			i, k = i+1, k+1
		}
	}
	return r
}

// estimate is the Jaccard estimate of two rows of 4-bit minima: bins empty on
// both sides say nothing, and of two full ones one in fifteen agrees by chance.
func estimate(a, b []byte) float64 {
	full, used, same := 0, 0, 0
	for i := range a {
		switch {
		case a[i] == 0 && b[i] == 0:
			continue
		case a[i] != 0 && b[i] != 0:
			full++
			if a[i] == b[i] {
				same++
			}
		}
		used++
	}
	if used == 0 {
		return 0
	}
	const chance = 1. / 15
	j := (float64(same) - chance*float64(full)) / (float64(used) * (1 - chance))
	return min(1, max(0, j))
}

// containment turns a Jaccard and two set sizes into both containments.
func containment(j float64, a, b uint32) (inA, inB float32) {
	shared := j / (1 + j) * float64(a+b)
	return float32(min(1, shared/float64(max(a, 1)))), float32(min(1, shared/float64(max(b, 1))))
}

// CompareTexts measures on the texts themselves.
func CompareTexts(q, c Input) Comparison {
	w := workspaces.Get().(*workspace)
	defer w.release()
	qt, ct := q.text(), c.text()
	w.q.tokens = appendTokens(w.q.tokens[:0], qt)
	w.c.tokens = appendTokens(w.c.tokens[:0], ct)
	r := Comparison{Exact: true, TokensA: len(w.q.tokens), TokensB: len(w.c.tokens)}
	if r.TokensA == 0 || r.TokensB == 0 {
		return r
	}
	r.Resemblance, r.ContainedA, r.ContainedB = w.overlap(&w.table, shingleK)
	_, r.SoftA, r.SoftB = w.overlap(&w.soft, softK)
	r.Layout.NovelA = w.novel(&w.q, func(g *gram) bool { return g.inC > 0 })
	r.Layout.NovelB = w.novel(&w.c, func(g *gram) bool { return g.inQ > 0 })
	w.heads(&r, &q, &c)
	w.conflict = w.conflict[:0]
	w.align(min(shingleK, len(w.q.tokens), len(w.c.tokens)))
	w.layout(&r)
	w.compareFacts(&r, qt, ct)
	w.compareNames(&r, &q, &c)
	if q.Published > 0 && c.Published > 0 {
		r.Days = int(max(q.Published-c.Published, c.Published-q.Published))
	}
	for _, m := range developments {
		if strings.Contains(qt, m) != strings.Contains(ct, m) {
			r.Layout.Developments++
		}
	}
	return r
}

// developments are words by which a report says that the story has moved on.
var developments = [...]string{"此前", "最新", "回应", "通报", "后续", "进展"}

// compareNames fills the names of r.Facts. A name that the dictionary found in
// one text only may still stand in the other, so both are searched.
func (w *workspace) compareNames(r *Comparison, q, c *Input) {
	count := func(own, other *Input, lacking, subjects *int) {
		names := append(w.sorted[:0], own.Names[:min(len(own.Names), nameMost)]...)
		slices.Sort(names)
		w.sorted = names
		for i := 0; i < len(names); {
			n, k := names[i], i+1
			for k < len(names) && names[k] == n {
				k++
			}
			switch {
			case strings.Contains(other.Body, n) || strings.Contains(other.Title, n):
				r.Facts.Names++
			case k-i > 1 || strings.Contains(own.Title, n):
				*subjects++
				fallthrough
			default:
				*lacking++
			}
			i = k
		}
		clear(names)
	}
	count(q, c, &r.Facts.NamesA, &r.Facts.SubjectsA)
	count(c, q, &r.Facts.NamesB, &r.Facts.SubjectsB)
	r.Facts.SubjectsA += subjects(w.q.words, w.c.words)
	r.Facts.SubjectsB += subjects(w.c.words, w.q.words)
}

// nameMost bounds the names of a text that are compared.
const nameMost = 256

// overlap counts distinct shingles of k tokens and chains their positions in
// the earlier text.
func (w *workspace) overlap(table *grams, k int) (j, inQ, inC float32) {
	q, c := w.q.tokens, w.c.tokens
	k = min(k, len(q), len(c))
	table.reset(len(q) + len(c))
	w.chain = slices.Grow(w.chain[:0], len(c))[:len(c)]
	nq, nc, both := 0, 0, 0
	sh := newShingler(k)
	for i := range c {
		h, ok := sh.next(c, i)
		if !ok {
			continue
		}
		e := table.at(h)
		if e.inC == 0 {
			nc++
		}
		e.inC++
	}
	sh = newShingler(k)
	for i := range q {
		h, ok := sh.next(q, i)
		if !ok {
			continue
		}
		e := table.at(h)
		if e.inQ == 0 {
			nq++
			if e.inC > 0 {
				both++
			}
		}
		e.inQ++
	}
	return float32(both) / float32(max(1, nq+nc-both)), float32(both) / float32(max(1, nq)), float32(both) / float32(max(1, nc))
}

// novel finds the clauses with less than a third of their pairs known to the
// other text, and counts their tokens.
func (w *workspace) novel(s *side, known func(*gram) bool) int {
	tokens, total := s.tokens, 0
	s.novel = s.novel[:0]
	for i := 0; i < len(tokens); {
		n, has := 1, 0
		for ; i+n < len(tokens) && !tokens[i+n].clause; n++ {
			if g := w.soft.find(pairHash(tokens[i+n-1:])); g != nil && known(g) {
				has++
			}
		}
		if n > 1 && 3*has < n-1 {
			total += n
			s.novel = append(s.novel, span{int32(i), int32(i + n)})
		}
		i += n
	}
	return total
}

// novelWithin counts the tokens of novel clauses from from to to.
func (s *side) novelWithin(from, to int32) int {
	n := 0
	for _, x := range s.novel {
		n += max(0, int(min(x.to, to)-max(x.from, from)))
	}
	return n
}

// pairHash is what a shingler of two gives for the first two tokens.
func pairHash(t []token) uint64 { return mix(t[0].hash*base + t[1].hash) }

// compareFacts fills r.Facts: figures as sets, and figures in the same place.
func (w *workspace) compareFacts(r *Comparison, qt, ct string) {
	w.facts = appendFacts(w.facts[:0], w.q.tokens)
	nq := len(w.facts)
	w.facts = appendFacts(w.facts, w.c.tokens)
	fq, fc := w.facts[:nq], w.facts[nq:]
	w.q.numbers, w.c.numbers = distinct(w.q.numbers[:0], fq), distinct(w.c.numbers[:0], fc)
	r.Facts.Numbers = min(len(w.q.numbers), len(w.c.numbers))
	for _, v := range w.q.numbers {
		if _, ok := slices.BinarySearch(w.c.numbers, v); ok {
			r.Facts.NumbersShared++
		}
	}
	r.Facts.OnlyA = len(w.q.numbers) - r.Facts.NumbersShared
	r.Facts.OnlyB = len(w.c.numbers) - r.Facts.NumbersShared
	r.Facts.LeadA, r.Facts.LeadB = w.lead(fq, w.c.numbers), w.lead(fc, w.q.numbers)
	byPlace := func(a, b fact) int { return int(a.place) - int(b.place) }
	slices.SortStableFunc(fq, byPlace)
	slices.SortStableFunc(fc, byPlace)
	w.agree = w.agree[:0]
	for len(fq) > 0 && len(fc) > 0 {
		a, b := samePlace(fq), samePlace(fc)
		switch p, o := fq[0].place, fc[0].place; {
		case p < o:
			fq = fq[a:]
		case p > o:
			fc = fc[b:]
		default:
			w.slot(&r.Facts, fq[:a], fc[:b])
			fq, fc = fq[a:], fc[b:]
		}
	}
	r.Facts.Agree = w.note(w.agree, qt, ct)
	r.Facts.Conflict = w.note(w.conflict, qt, ct)
}

// leadTokens is how much of a text is its lead.
const leadTokens = 100

// lead counts the distinct figures of a lead that the other text has nowhere;
// facts are in the order of the text.
func (w *workspace) lead(facts []fact, others []uint64) int {
	w.lacking = w.lacking[:0]
	for _, f := range facts {
		if f.token >= leadTokens {
			break
		}
		if _, ok := slices.BinarySearch(others, f.value); !ok && !slices.Contains(w.lacking, f.value) {
			w.lacking = append(w.lacking, f.value)
		}
	}
	return len(w.lacking)
}

func distinct(dst []uint64, facts []fact) []uint64 {
	for _, f := range facts {
		dst = append(dst, f.value)
	}
	slices.Sort(dst)
	return slices.Compact(dst)
}

// samePlace is the number of facts at the head of the list in one place.
func samePlace(facts []fact) int {
	n := 1
	for n < len(facts) && facts[n].place == facts[0].place {
		n++
	}
	return n
}

// slotMost bounds how many figures in one place are compared: more of them are
// a table, and say nothing about each other.
const slotMost = 16

// slot compares what two texts put in one place: the same where any of it is.
func (w *workspace) slot(f *Facts, a, b []fact) {
	a, b = a[:min(len(a), slotMost)], b[:min(len(b), slotMost)]
	for _, x := range a {
		for _, y := range b {
			if x.value == y.value {
				f.SameSlot++
				w.agree = append(w.agree, spot{w.q.figureAt(x.token), w.c.figureAt(y.token)})
				return
			}
		}
	}
	f.OtherSlot++
	w.conflict = append(w.conflict, spot{w.q.figureAt(a[0].token), w.c.figureAt(b[0].token)})
}

// span is some tokens of a text, spot a span in each of two texts.
type (
	span struct{ from, to int32 }
	spot struct{ q, c span }
)

// figureAt is a figure with the character after it, which mostly is its unit.
func (s *side) figureAt(i int32) span {
	if n := int(i) + 1; n < len(s.tokens) && s.tokens[i].kind != percent && s.tokens[n].kind == han && s.tokens[n].start == s.tokens[i].end {
		return span{i, i + 2}
	}
	return span{i, i + 1}
}

// in is the text of a span.
func (s *side) in(x span, text string) string {
	return strings.ReplaceAll(text[s.tokens[x.from].start:s.tokens[x.to-1].end], "\n", " ")
}

// notes is how many facts are put into words, of each sort.
const notes = 4

// note puts the first spots of the query into words: what both have, or what
// one has / what the other has.
func (w *workspace) note(spots []spot, qt, ct string) []string {
	slices.SortFunc(spots, func(a, b spot) int { return int(a.q.from - b.q.from) })
	var words []string
	for _, s := range spots {
		word, other := w.q.in(s.q, qt), w.c.in(s.c, ct)
		if word != other {
			word += " / " + other
		}
		if !slices.Contains(words, word) {
			if words = append(words, word); len(words) == notes {
				break
			}
		}
	}
	return words
}
