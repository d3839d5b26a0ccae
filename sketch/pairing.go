package sketch

import (
	"cmp"
	"math"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Bounds of a gap in which facts and names face each other, in tokens of the longer side.
const (
	conflictGap = 12
	nameGap     = 10
)

// Two figures are of one matter if the sameWords Han characters before them are equal. If they are the only ones of their unit, an
// equal pair of tokens up to besideMost tokens away will do. Texts with more than counterpartMost pairs of facts are tables.
const (
	sameWords       = 4
	besideMost      = 8
	counterpartMost = 200
)

// Counterparts are the Pairs. If the two texts have one form, facts that the alignment does not relate are in conflict where the same
// words stand before them, or where each is the only one of its unit and the texts have some words around them in common.
func (x *Alignment) Counterparts(form bool) []FactPair {
	if !form || len(x.Pairs) > counterpartMost {
		return x.Pairs
	}
	pairs := slices.Clone(x.Pairs)
	facing := func(l, r *FactPair) bool {
		return l.Later != nil && l.Earlier == nil && r.Later == nil && r.Earlier != nil && l.Later.comparable(r.Earlier) && !l.Later.Equal(r.Earlier)
	}
	for i := range pairs {
		l, best, most, all := &pairs[i], (*FactPair)(nil), -1, 0
		for j := range pairs {
			if r := &pairs[j]; facing(l, r) {
				all++
				if n := sameBefore(x.Later.Text[:l.Later.Start], x.Earlier.Text[:r.Earlier.Start]); n > most {
					best, most = r, n
				}
			}
		}
		alone := func() bool { // of their unit, or of their fields, where they are times
			others := func(o FactPair) bool { return o != *l && facing(&o, best) }
			again := func(w string) bool { return slices.Contains(x.Earlier.beside(best.Earlier), w) }
			return all == 1 && l.Later.said() == best.Earlier.said() && !slices.ContainsFunc(pairs, others) && slices.ContainsFunc(x.Later.beside(l.Later), again)
		}
		if best != nil && (most >= sameWords || alone()) {
			l.Earlier, l.Conflict, best.Earlier = best.Earlier, true, nil
		}
	}
	return slices.DeleteFunc(pairs, func(p FactPair) bool { return p.Later == nil && p.Earlier == nil })
}

// beside are the pairs of tokens around a fact.
func (x *Aligned) beside(f *Fact) (words []string) {
	for i := max(0, f.from-besideMost); i+1 < min(f.from+2*besideMost, len(x.Tokens)); i++ {
		if a, b := x.Tokens[i], x.Tokens[i+1]; b.End <= f.Start || a.Start >= f.End {
			words = append(words, x.Text[a.Start:b.End])
		}
	}
	return words
}

// sameBefore is how many Han characters at their ends two texts have in common, up to four times sameWords.
func sameBefore(a, b string) int {
	n := 0
	for n < min(len(a), len(b), len("字")*4*sameWords) && a[len(a)-1-n] == b[len(b)-1-n] {
		n++
	}
	return n / len("字")
}

// facts relates the facts of both texts: first at one place of the alignment, then anywhere.
func (x *Alignment) pairFacts(w *workspace) {
	p := pairing{x: x, a: slices.Clone(w.q.said), b: slices.Clone(w.c.said)} // the buffers will be used again
	p.doneA, p.doneB = make([]bool, len(p.a)), make([]bool, len(p.b))
	p.aligned()
	x.eachGap(w, func(a, b span) { p.inGap(int(a.from), int(a.to), int(b.from), int(b.to)) })
	p.elsewhere(w)
	p.hours()
	x.eachGap(w, func(a, b span) { p.names(w, int(a.from), int(a.to), int(b.from), int(b.to)) })
	for i := range p.a {
		if !p.doneA[i] {
			x.Pairs = append(x.Pairs, FactPair{Later: &p.a[i]})
		}
	}
	for j := range p.b {
		if !p.doneB[j] {
			x.Pairs = append(x.Pairs, FactPair{Earlier: &p.b[j]})
		}
	}
}

type pairing struct {
	x            *Alignment
	a, b         []Fact
	doneA, doneB []bool
}

func (p *pairing) add(i, j int, conflict bool) {
	p.doneA[i], p.doneB[j] = true, true
	p.x.Pairs = append(p.x.Pairs, FactPair{Later: &p.a[i], Earlier: &p.b[j], Conflict: conflict})
}

// within are the numbers of the facts that begin in a range of tokens.
func within(facts []Fact, from, to int) (lo, hi int) {
	by := func(f Fact, at int) int { return cmp.Compare(f.from, at) }
	lo, _ = slices.BinarySearchFunc(facts, from, by)
	hi, _ = slices.BinarySearchFunc(facts, to, by)
	return lo, hi
}

// aligned pairs facts that begin at tokens that match.
func (p *pairing) aligned() {
	for _, m := range p.x.Matches {
		lo, hi := within(p.a, m.Later, m.Later+m.N)
		for i := lo; i < hi; i++ {
			at := p.a[i].from - m.Later + m.Earlier
			j, end := within(p.b, at, at+1)
			if j < end && !p.doneA[i] && !p.doneB[j] && p.a[i].Equal(&p.b[j]) {
				p.add(i, j, false)
			}
		}
	}
}

// factTokens bounds how many tokens before a gap a fact begins that reaches into it: 8月9日6时.
const factTokens = 8

// reaching are the numbers of the facts that begin in a gap or reach into it, or end just before it and may differ in it by their
// unit.
func reaching(facts []Fact, tokens []Bytes, from, to int) (lo, hi int) {
	lo, hi = within(facts, from-factTokens, to)
	for lo < hi && facts[lo].from < from-2 && (from == len(tokens) || facts[lo].End <= tokens[from].Start) {
		lo++
	}
	return lo, hi
}

// inGap pairs equal facts of a gap, and in a short gap the others, in order, as conflicts.
func (p *pairing) inGap(a0, a1, b0, b1 int) {
	a, aEnd := reaching(p.a, p.x.Later.Tokens, a0, a1)
	b, bEnd := reaching(p.b, p.x.Earlier.Tokens, b0, b1)
	for i := a; i < aEnd; i++ {
		for j := b; j < bEnd && !p.doneA[i]; j++ {
			if !p.doneB[j] && p.a[i].Equal(&p.b[j]) {
				p.add(i, j, false)
			}
		}
	}
	if max(a1-a0, b1-b0) > conflictGap || a0 == 0 || b0 == 0 {
		return
	}
	if a == aEnd && b == bEnd && a1 > a0 && b1 > b0 {
		p.words(a0, a1, b0, b1)
	}
	for i := a; i < aEnd; i++ {
		for j := b; j < bEnd && !p.doneA[i]; j++ {
			if !p.doneB[j] && p.a[i].comparable(&p.b[j]) {
				p.add(i, j, true)
			}
		}
	}
}

// values are words that two texts of one form may have at one place with other meanings: the level of a warning, the direction of a
// price, a Chinese digit.
var values = [][]string{
	{"蓝", "黄", "橙", "红"}, {"二", "三", "四", "五", "六", "七", "八", "九"}, {"涨", "跌"}, {"升", "降"}, {"增", "减"}, {"高", "低"},
	{"上涨", "下跌"}, {"上升", "下降"}, {"增长", "下降"}, {"增加", "减少"},
}

// words adds a conflict where two words at one place are other values.
func (p *pairing) words(a0, a1, b0, b1 int) {
	l, e := &p.x.Later, &p.x.Earlier
	wordA, wordB := l.Text[l.Tokens[a0].Start:l.Tokens[a1-1].End], e.Text[e.Tokens[b0].Start:e.Tokens[b1-1].End]
	if !slices.ContainsFunc(values, func(v []string) bool { return slices.Contains(v, wordA) && slices.Contains(v, wordB) }) {
		return
	}
	if a, b := l.valueAt(a0, a1), e.valueAt(b0, b1); a.End > 0 && b.End > 0 {
		p.x.Pairs = append(p.x.Pairs, FactPair{Later: &a, Earlier: &b, Conflict: true})
	}
}

// valueAt is a word, and with the figure, unit or character behind it what it says of one; a character without any counts a list.
func (x *Aligned) valueAt(from, to int) (f Fact) {
	start, end := x.Tokens[from].Start, x.Tokens[to-1].End
	char, _ := utf8.DecodeRuneInString(x.Text[start:])
	n := len(x.Text[end:]) - len(strings.TrimLeft(x.Text[end:], "0123456789.%"))
	size, _ := unitAt(x.Text, end)
	n = max(n, size)
	if r, size := utf8.DecodeRuneInString(x.Text[end:]); n == 0 && to-from == 1 && unicode.IsLetter(r) {
		n = size
	}
	if n > 0 || to-from > 1 {
		f = Fact{Start: start, End: end + n, value: hanDigit(char), from: from}
	}
	return f
}

// elsewhere pairs facts that stand in both texts at different places, or in the earlier one's dateline. A fact that is said again
// is no new one, but a figure behind a word that the earlier text has not before it may be said of something else.
func (p *pairing) elsewhere(w *workspace) {
	for i := range p.a {
		for j := 0; j < len(p.b) && !p.doneA[i]; j++ {
			if p.a[i].Equal(&p.b[j]) {
				if at := p.a[i].from; p.doneB[j] && p.a[i].Kind == FactFigure && at > 0 && w.inC[w.q.pairs[at-1]] == 0 {
					p.x.Facts.Adds++
				}
				p.add(i, j, false)
			}
		}
		o := w.c.spelled(&w.q, &p.a[i])
		if j := slices.IndexFunc(w.c.dated, func(f Fact) bool { return p.a[i].Equal(&f) }); j >= 0 {
			o = new(w.c.dated[j])
		}
		if !p.doneA[i] && o != nil {
			p.doneA[i] = true
			p.x.Pairs = append(p.x.Pairs, FactPair{Later: &p.a[i], Earlier: o})
		}
	}
	for j := range p.b {
		p.doneB[j] = p.doneB[j] || slices.ContainsFunc(p.a, func(f Fact) bool { return f.Equal(&p.b[j]) }) || w.q.spelled(&w.c, &p.b[j]) != nil
	}
}

// hours pairs a time with one that says its hour too, wherever that stands: 26日8时 and 今天（26日）上午8点.
func (p *pairing) hours() {
	for i := range p.x.Pairs {
		l := &p.x.Pairs[i]
		j := slices.IndexFunc(p.b, func(o Fact) bool { return l.Later.Equal(&o) && !l.Later.Finer(&o) })
		if j >= 0 && l.Earlier != nil && !l.Conflict && l.Later.Finer(l.Earlier) {
			l.Earlier = &p.b[j]
		}
	}
}

// spellings are the Chinese numerals that are one character, by value.
var spellings = [11][]string{1: {"一"}, {"二", "两"}, {"三"}, {"四"}, {"五"}, {"六"}, {"七"}, {"八"}, {"九"}, {"十"}}

// spelled finds a figure up to ten of the other text where s writes it in Chinese: 一人, 七个 and 十年 are no facts by themselves, since
// they begin many words.
func (s *side) spelled(other *side, f *Fact) *Fact {
	text := other.text[f.Start:f.End]
	unit := strings.TrimLeft(text, "0123456789")
	if f.value < 1 || f.value > 10 || f.value != math.Trunc(f.value) || unit == "" || unit == text || unit[0] < utf8.RuneSelf {
		return nil
	}
	for _, digit := range spellings[int(f.value)] {
		if at := strings.Index(s.text, digit+unit); at >= 0 {
			o := *f
			o.Start, o.End = at, at+len(digit+unit)
			return &o
		}
	}
	return nil
}

// fact is a figure at its place.
type fact struct {
	value uint64
	place uint16 // hash of the words around it
}

// appendFacts appends the figures of a text. A small figure that is a clause by itself is the number of a list
// item, not a fact.
func appendFacts(dst []fact, tokens []token) []fact {
	for i, t := range tokens {
		if !t.kind.isNumber() || isEnumerator(tokens, i) {
			continue
		}
		h := uint64(t.kind)
		for j := max(0, i-3); j < i; j++ {
			h = h*base + placeHash(tokens[j])
		}
		if i+1 < len(tokens) {
			h = h*base + placeHash(tokens[i+1])
		}
		dst = append(dst, fact{value: t.hash, place: uint16(mix(h) >> 48)})
	}
	return dst
}

func isEnumerator(tokens []token, i int) bool {
	t := tokens[i]
	return t.kind == number && t.clause && t.end-t.start <= 2 && (i+1 == len(tokens) || tokens[i+1].clause)
}

// placeHash is equal for all figures of a kind, so a place does not depend on the figures next to it.
func placeHash(t token) uint64 {
	if t.kind.isNumber() {
		return uint64(t.kind) + 1
	}
	return t.hash
}

// distinct appends the distinct figures of facts, sorted.
func distinct(dst []uint64, facts []fact) []uint64 {
	for _, f := range facts {
		dst = append(dst, f.value)
	}
	slices.Sort(dst)
	return slices.Compact(dst)
}
