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
	p.ranges()
	x.eachGap(w, func(a, b span) { p.inGap(int(a.from), int(a.to), int(b.from), int(b.to)) })
	p.elsewhere(w)
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

// ranges pairs a range of one text with its two ends in the other: 0.21-0.28米, 0.21米—0.28米.
func (p *pairing) ranges() {
	for i := range p.a {
		for j := 1; j < len(p.b) && p.a[i].ends[1] > 0 && !p.doneA[i]; j++ {
			if !p.doneB[j-1] && !p.doneB[j] && p.a[i].spans(&p.b[j-1], &p.b[j]) {
				p.add(i, j-1, false)
				p.doneB[j] = true
			}
		}
	}
	for j := range p.b {
		for i := 1; i < len(p.a) && p.b[j].ends[1] > 0 && !p.doneB[j]; i++ {
			if !p.doneA[i-1] && !p.doneA[i] && p.b[j].spans(&p.a[i-1], &p.a[i]) {
				p.add(i-1, j, false)
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
		if j := slices.IndexFunc(w.c.dated, func(f Fact) bool { return p.a[i].Equal(&f) }); !p.doneA[i] && j >= 0 {
			p.doneA[i] = true
			p.x.Pairs = append(p.x.Pairs, FactPair{Later: &p.a[i], Earlier: new(w.c.dated[j])})
		} else if o := w.c.spelled(&w.q, &p.a[i]); !p.doneA[i] && o != nil {
			p.doneA[i] = true
			p.x.Pairs = append(p.x.Pairs, FactPair{Later: &p.a[i], Earlier: o})
		}
	}
	for j := range p.b {
		p.doneB[j] = p.doneB[j] || slices.ContainsFunc(p.a, func(f Fact) bool { return f.Equal(&p.b[j]) }) || w.q.spelled(&w.c, &p.b[j]) != nil
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

// spotted are the names of the dictionary where they stand in a text, in order.
func (s *side) spotted(out []Bytes) []Bytes {
	var begins [256]bool // by the second byte, or the only one: many tokens begin no name
	for _, n := range s.names {
		if n != "" { // a segmenter on another machine may send one
			begins[n[min(1, len(n)-1)]] = true
		}
	}
	for _, t := range s.tokens {
		rest := s.text[t.start:]
		if !begins[rest[0]] && !begins[rest[min(1, len(rest)-1)]] {
			continue
		}
		from := len(out)
		i, _ := slices.BinarySearch(s.names, rest[:1])
		for ; i < len(s.names) && s.names[i] <= rest; i++ {
			if strings.HasPrefix(rest, s.names[i]) && (i == 0 || s.names[i] != s.names[i-1]) {
				out = append(out, Bytes{int(t.start), int(t.start) + len(s.names[i])})
			}
		}
		slices.Reverse(out[from:]) // the longest one first
	}
	return out
}

// names adds a conflict where the frame is equal and a slot holds another name: a name of the dictionary on both
// sides, or what reads like one, that the other text has nowhere.
func (p *pairing) names(w *workspace, a0, a1, b0, b1 int) {
	if a0 == a1 || b0 == b1 || max(a1-a0, b1-b0) > nameGap {
		return
	}
	if x, y := w.q.lastClause(a0, a1), w.c.lastClause(b0, b1); x > a0 && y > b0 {
		a0, b0 = x, y // the end of one clause in each, and the beginning of another: what matches follows
	}
	a, b := w.q.nameIn(a0, a1), w.c.nameIn(b0, b1)
	if a.End == 0 || b.End == 0 {
		return
	}
	nameA, nameB := p.x.Later.Text[a.Start:a.End], p.x.Earlier.Text[b.Start:b.End]
	if w.c.says(nameA) || w.q.says(nameB) || w.q.credited(a) || w.c.credited(b) || todays(nameA) || todays(nameB) {
		return
	}
	if _, n := utf8.DecodeRuneInString(nameA); strings.Contains(nameA+nameB, "某") && strings.HasPrefix(nameB, nameA[:n]) {
		return // one text does not tell the name
	}
	beforeA, behindA := w.q.beyond(a, a0, a1)
	beforeB, behindB := w.c.beyond(b, b0, b1)
	before, behind := max(beforeA, beforeB), max(behindA, behindB)
	a, b = w.q.slot(a, a0-before, a1, behind), w.c.slot(b, b0-before, b1, behind)
	p.x.Pairs = append(p.x.Pairs, FactPair{Later: &Fact{Kind: FactName, Start: a.Start, End: a.End, from: a0},
		Earlier: &Fact{Kind: FactName, Start: b.Start, End: b.End, from: b0}, Conflict: true})
}

// credited reports whether a name stands among credits: behind the word for one, in a clause of them or behind it, or as the last clause
// of a text, where its author signs.
func (s *side) credited(name Bytes) bool {
	from := strings.LastIndexByte(s.text[:name.Start], '\n') + 1
	clause, _, more := strings.Cut(s.text[from:], "\n")
	last := strings.TrimSuffix(s.text[:from], "\n")
	before := last[strings.LastIndexByte(last, '\n')+1:]
	signs := len(s.tokens) > shortTokens && !more && utf8.RuneCountInString(clause) <= nameTokens
	return signs || Credit(clause) || Credit(before) || slices.ContainsFunc(creditWords, func(w string) bool { return strings.HasSuffix(s.text[:name.Start], w) })
}

// todays reports whether a word that the dictionary takes for a name is a time.
func todays(name string) bool {
	return slices.ContainsFunc([]string{"今", "昨", "时间", "上午", "下午"}, func(o string) bool { return strings.Contains(name, o) })
}

// lastClause is where the last clause among some tokens begins, from if none begins behind it.
func (s *side) lastClause(from, to int) int {
	for to--; to > from && !s.tokens[to].clause; to-- {
	}
	return to
}

// beyond is how many tokens of a name stand before a gap, and how many behind it.
func (s *side) beyond(name Bytes, from, to int) (before, behind int) {
	for from-before > 0 && int(s.tokens[from-before-1].start) >= name.Start {
		before++
	}
	for to+behind < len(s.tokens) && int(s.tokens[to+behind].end) <= name.End {
		behind++
	}
	return before, behind
}

// slotBehind bounds, in tokens, what a slot has behind the part of a name that the dictionary knows.
const slotBehind = 6

// Particles stand before a name, and are no surname.
const Particles = "的在为对由经从到和与及给被把是于向等据至"

// slot widens a name to the slot that it stands in, so that no longer name is cut: 鹏飞 to 易鹏飞, 浙江 to 浙江自然 where the
// clause ends there, 延安 to 延安农村商业银行. One of the two names ends behind tokens after the gap.
func (s *side) slot(name Bytes, from, to, behind int) Bytes {
	from, to = max(0, from), min(to+behind, len(s.tokens))
	first, last := from, to
	for first < to && int(s.tokens[first].start) < name.Start {
		first++
	}
	for last > from && int(s.tokens[last-1].end) > name.End {
		last--
	}
	known := s.text[name.Start:name.End]
	short := utf8.RuneCountInString(known) == 2
	if first > from && short && !s.tokens[first].clause {
		switch before := s.text[s.tokens[first-1].start:name.Start]; {
		case strings.Contains(Particles, before) || s.tokens[first-1].kind != han:
		case first == from+1 || strings.Contains(surnames, before):
			name.Start = int(s.tokens[first-1].start)
		}
	}
	end := int(s.tokens[to-1].end)
	parts := func(t token) bool { return t.clause || t.kind.isNumber() }
	if end < name.End || to-last > slotBehind || slices.ContainsFunc(s.tokens[last:to], parts) {
		return name
	}
	suffix := NameSuffix(s.text[end:])
	ends := func(o string) bool { return strings.HasSuffix(s.text[name.Start:end], o) }
	if last == to && !short || slices.ContainsFunc(nameSuffixes, func(o string) bool { return len(o) > len("市") && ends(o) }) {
		suffix = 0 // 神思电子 区间
	}
	closed := to == len(s.tokens) || parts(s.tokens[to]) || suffix > 0 || slices.ContainsFunc(nameSuffixes, ends)
	if closed || behind > 0 || to-last == 1 && personal(known) {
		name.End = end + suffix
	}
	return name
}

func (s *side) says(name string) bool {
	return strings.Contains(s.text, name) || strings.Contains(s.in.Title, name)
}

// nameSuffixes follow a name: what stands before them in an equal frame is one, though no dictionary has it.
var nameSuffixes = strings.Fields("省 市 县 区 州 镇 乡 村 街道 公司 集团 股份 银行 证券 大学 学院 中学 医院 法院 队")

// nameIn is the name that a gap holds or cuts, none with an End of 0.
func (s *side) nameIn(from, to int) Bytes {
	start, end := int(s.tokens[from].start), int(s.tokens[to-1].end)
	i, _ := slices.BinarySearchFunc(s.spots, start-18, func(n Bytes, at int) int { return cmp.Compare(n.Start, at) })
	for ; from > 0 && i < len(s.spots) && s.spots[i].Start < end; i++ {
		if s.spots[i].End > start {
			return s.spots[i]
		}
	}
	text, rest := s.text[start:end], s.text[end:]
	if from > 0 && personal(text) || to-from >= 2 && to-from <= 4 && !strings.ContainsAny(text, "\n0123456789") &&
		NameSuffix(rest) > 0 {
		return Bytes{start, end}
	}
	return Bytes{}
}

// NameSuffix is the length of the suffix of a name that a text begins with, 0 for none.
func NameSuffix(text string) int {
	if i := slices.IndexFunc(nameSuffixes, func(o string) bool { return strings.HasPrefix(text, o) }); i >= 0 {
		return len(nameSuffixes[i])
	}
	return 0
}

// surnames are the commonest ones; those that are common words too are left out.
const surnames = "王李张刘陈杨黄赵吴周徐孙朱胡郭林何罗郑梁谢宋唐许韩冯邓曹彭曾肖田董潘袁蔡蒋余于杜叶程魏苏吕丁任卢姚沈钟姜崔谭陆范汪廖石金韦贾夏付方邹熊孟秦邱江尹薛闫段雷侯龙史陶贺顾毛郝龚邵覃武钱戴严莫孔向汤缪樊颜"

// startsName reports whether a text begins with a surname.
func startsName(s string) bool {
	r, _ := utf8.DecodeRuneInString(s)
	return strings.ContainsRune(surnames, r)
}

// personal reports whether a text reads like a person's name: a surname and one or two characters.
func personal(s string) bool {
	n := utf8.RuneCountInString(s)
	return n >= 2 && n <= 3 && len(s) == 3*n && startsName(s)
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
