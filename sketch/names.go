package sketch

import (
	"cmp"
	"slices"
	"strings"
	"unicode/utf8"
)

// spotted are the names of the dictionary where they stand in a text, in order.
func (s *side) spotted(out []Bytes) []Bytes {
	var begins [256]bool // by the second byte, or the only one: many tokens begin no name
	for _, n := range s.names {
		begins[n[min(1, len(n)-1)]] = true
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
	if w.c.says(nameA) || w.q.says(nameB) || w.q.credited(a) || w.c.credited(b) {
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
	short := utf8.RuneCountInString(s.text[name.Start:name.End]) == 2
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
	if closed || behind > 0 {
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
