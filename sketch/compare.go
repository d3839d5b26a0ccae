package sketch

import (
	"encoding/binary"
	"math/bits"
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
	// Gaps counts the places between two runs, and at the ends, where either text
	// has something of its own.
	Gaps int
	// Replaced counts the figures put for others in swaps that are else the same,
	// ReplacedGaps those swaps.
	Replaced, ReplacedGaps int
	// Renamed is how often one name stands where the earlier text has one other,
	// if two times or more. Retitled is the same of shorter words that stand so
	// in both openings: names, or two words for one thing.
	Renamed, Retitled int
	// Subject is how much of what stands in one place of both openings is unknown
	// to the other text, of the side where less is: of the place with the most, if
	// each side has some length.
	Subject float32
	// Moved counts the runs that begin before the last one in the earlier text.
	Moved int
	// Developments counts the words that speak of a story moving on (此前, 最新,
	// 回应 and such) and stand in one of the texts only.
	Developments int
	// HeadA and HeadB are the shares of token pairs of one text's headline (its
	// opening where it has none) that the other text has anywhere.
	HeadA, HeadB float32
	Topics       Topics
	// SameBody says that the bodies are equal and of some length, and that one of
	// the texts has no headline: the other's may have been put there by anyone.
	SameBody bool
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

// estimate is the Jaccard estimate of two rows of 4-bit minima, a multiple of
// eight.
func estimate(a, b []byte) float64 {
	// Eight bins at a time: a byte of at most 15 plus 127 has its highest bit set
	// unless it is 0.
	const top, below = 0x8080808080808080, 0x7f7f7f7f7f7f7f7f
	full, used, same := 0, 0, 0
	for i := 0; i+8 <= len(a); i += 8 {
		x, y := binary.LittleEndian.Uint64(a[i:]), binary.LittleEndian.Uint64(b[i:])
		inX, inY := x+below, y+below
		both := inX & inY & top
		full += bits.OnesCount64(both)
		used += bits.OnesCount64((inX | inY) & top)
		same += bits.OnesCount64(both &^ ((x ^ y) + below))
	}
	return jaccard(full, used, same)
}

// jaccard is estimated from how many bins are full in both texts, used by
// either, and agree: bins empty on both sides say nothing, and of two full ones
// one in fifteen agrees by chance.
func jaccard(full, used, same int) float64 {
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

// measure fills in what overlaps has not: all but resemblance, containment and
// sizes.
func (w *workspace) measure(r *Comparison) {
	if r.TokensA == 0 || r.TokensB == 0 {
		return
	}
	w.c.digest()
	r.SoftA, r.SoftB = w.sharedPairs()
	r.Layout.NovelA = w.novel(&w.q, func(pair int32) bool { return w.inC[pair] > 0 })
	r.Layout.NovelB = w.novel(&w.c, func(pair int32) bool { return pair >= 0 })
	w.heads(r)
	q, c := &w.q, &w.c
	r.Layout.SameBody = (q.in.Title == "") != (c.in.Title == "") && q.in.Body == c.in.Body && min(len(q.tokens), len(c.tokens)) >= bodyTokens
	w.conflict = w.conflict[:0]
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

// bodyTokens is the least length of a body that speaks for itself where it is
// all that two texts have in common.
const bodyTokens = 16

// developments are words by which a report says that the story has moved on.
var developments = [...]string{"此前", "最新", "回应", "通报", "后续", "进展"}

// compareNames fills the names of r.Facts. A name that the dictionary found in
// one text only may still stand in the other, so both are searched.
func (w *workspace) compareNames(r *Comparison) {
	count := func(own, other *side, has func(h uint64) bool, lacking, subjects *int) {
		names := own.names
		for i := 0; i < len(names); {
			n, k := names[i], i+1
			for k < len(names) && names[k] == n {
				k++
			}
			switch {
			case !w.lacks(n, has) && strings.Contains(other.in.Body, n) || strings.Contains(other.in.Title, n):
				r.Facts.Names++
			case k-i > 1 || strings.Contains(own.in.Title, n):
				*subjects++
				fallthrough
			default:
				*lacking++
			}
			i = k
		}
	}
	count(&w.q, &w.c, w.pairInC, &r.Facts.NamesA, &r.Facts.SubjectsA)
	count(&w.c, &w.q, w.pairInQ, &r.Facts.NamesB, &r.Facts.SubjectsB)
	r.Facts.SubjectsA += subjects(w.q.known, w.c.known)
	r.Facts.SubjectsB += subjects(w.c.known, w.q.known)
}

// nameMost bounds the names of a text that are compared.
const nameMost = 256

// novel finds the clauses with less than a third of their pairs known to the
// other text, given the number of a pair, and counts their tokens.
func (w *workspace) novel(s *side, known func(pair int32) bool) int {
	tokens, pairs, total := s.tokens, s.pairs, 0
	s.novel = s.novel[:0]
	if w.kPairs < softK {
		known = func(int32) bool { return false } // these are no pairs
	}
	for i := 0; i < len(tokens); {
		n, has := 1, 0
		for ; i+n < len(tokens) && !tokens[i+n].clause; n++ {
			if known(pairs[i+n-1]) {
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
func (w *workspace) compareFacts(r *Comparison) {
	r.Facts.Numbers = min(len(w.q.numbers), len(w.c.numbers))
	for _, v := range w.q.numbers {
		if _, ok := slices.BinarySearch(w.c.numbers, v); ok {
			r.Facts.NumbersShared++
		}
	}
	r.Facts.OnlyA = len(w.q.numbers) - r.Facts.NumbersShared
	r.Facts.OnlyB = len(w.c.numbers) - r.Facts.NumbersShared
	r.Facts.LeadA, r.Facts.LeadB = w.lead(w.q.facts, w.c.numbers), w.lead(w.c.facts, w.q.numbers)
	fq, fc := w.q.placed, w.c.placed
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
	r.Facts.Agree = w.note(w.agree)
	r.Facts.Conflict = w.note(w.conflict)
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

// at is the text of a span.
func (s *side) at(x span) string {
	return strings.ReplaceAll(s.text[s.tokens[x.from].start:s.tokens[x.to-1].end], "\n", " ")
}

// notes is how many facts are put into words, of each sort.
const notes = 4

// note puts the first spots of the query into words: what both have, or what
// one has / what the other has.
func (w *workspace) note(spots []spot) []string {
	slices.SortFunc(spots, func(a, b spot) int { return int(a.q.from - b.q.from) })
	var words []string
	for _, s := range spots {
		word, other := w.q.at(s.q), w.c.at(s.c)
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
