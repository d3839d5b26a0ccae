package sketch

import (
	"slices"
	"strings"
)

// bodyTokens is the least length of a body that makes two texts the same where only one has a headline.
const bodyTokens = 16

// measure fills in the Comparison from the alignment.
func (x *Alignment) measure(w *workspace) {
	l, q, c := &x.Layout, &w.q, &w.c
	x.SoftA, x.SoftB = w.softA, w.softB
	l.Echo = w.echo()
	w.heads(&x.Comparison)
	l.Heading = heading(&q.in, &c.in) && heading(&c.in, &q.in)
	l.SameBody = (q.in.Title == "") != (c.in.Title == "") && q.in.Body == c.in.Body && min(len(q.tokens), len(c.tokens)) >= bodyTokens
	l.RestA, l.RestB = len(q.tokens), len(c.tokens)
	for _, m := range x.Matches {
		l.RestA -= m.N
		l.RestB -= m.N
	}
	x.eachGap(w, func(a, b span) { w.gap(l, a, b) })
	l.NovelA, l.NovelB = x.Later.OwnTokens, x.Earlier.OwnTokens
	l.Unknown = x.unknown(w)
	l.Matter = x.matter(w)
	x.countFacts()
	w.compareNames(&x.Comparison.Facts)
	l.Repriced = w.repriced()
	if q, c := q.in.Published, c.in.Published; q > 0 && c > 0 {
		x.Days = int(max(q-c, c-q))
		l.OwnDays = x.ownDays(w, q, c)
	}
}

// unknown counts the tokens of the later text's own clauses that the earlier text has nowhere.
func (x *Alignment) unknown(w *workspace) (n int) {
	w.others.reset(len(w.c.buffer) + len(w.c.head))
	for _, tokens := range [...][]token{w.c.buffer, w.c.head} {
		for _, t := range tokens {
			w.others.put(t.hash)
		}
	}
	for _, t := range slices.Concat(x.Later.own...) {
		if w.others.find(t.hash) < 0 {
			n++
		}
	}
	return n
}

// stretch is the length of the match that ends a stretch, and how many new pairs in one may be other words for the same.
const stretch = 8

// matter is Layout.Matter.
func (x *Alignment) matter(w *workspace) (n int) {
	at, run, fresh := 0, 0, 0
	for _, m := range append(x.Matches, Match{Later: len(w.q.tokens), N: stretch}) {
		if m.Later > at {
			run = 0
		}
		for ; at < m.Later; at++ {
			if at+1 < len(w.q.tokens) && w.inC[w.q.pairs[at]] == 0 && !hasPair(w.c.head, w.q.tokens[at:]) {
				fresh++
			}
		}
		at += m.N
		if run += m.N; run >= stretch {
			n, fresh = n+max(0, fresh-stretch), 0
		}
	}
	return n
}

// headingMost is the length in bytes of the longest heading, six Han characters.
const headingMost = 18

// heading reports whether a headline begins with a short clause that another text lacks.
func heading(own, other *Input) bool {
	name, rest, _ := strings.Cut(own.Title, "\n")
	return rest != "" && len(name) <= headingMost && !strings.Contains(other.Title, name) && !strings.Contains(other.Body, name)
}

// Bounds of a gap that is a subject, in tokens and unknown pairs: in the opening, an office and its holder rather
// than one word for another.
const (
	subjectMost  = 60
	subjectPairs = 6
)

// gap adds what lies between two matches: a in the query, b in the earlier text.
func (w *workspace) gap(l *Layout, a, b span) {
	l.Gaps++
	nA, nB := int(a.to-a.from), int(b.to-b.from)
	if min(nA, nB) < softK || max(nA, nB) > subjectMost || int(a.to) == len(w.q.tokens) {
		return // text behind the last match is a rest, not other words at the same place
	}
	newA, newB := 0, 0
	for _, id := range w.q.pairs[a.from : a.to-1] {
		if w.inC[id] == 0 {
			newA++
		}
	}
	for _, id := range w.c.pairs[b.from : b.to-1] {
		if id < 0 {
			newB++
		}
	}
	if a.from > 0 && max(a.from, b.from) < openingTokens && min(newA, newB) >= subjectPairs {
		l.Subject = max(l.Subject, min(float32(newA)/float32(nA-1), float32(newB)/float32(nB-1)))
	}
}

// countFacts counts the facts in pairs and those without a partner.
func (x *Alignment) countFacts() {
	f := &x.Comparison.Facts
	var saidA, saidB []*Fact // distinct
	fresh := func(said *[]*Fact, o *Fact) int {
		if o == nil || slices.ContainsFunc(*said, o.Equal) {
			return 0
		}
		*said = append(*said, o)
		return 1
	}
	for i := range x.Pairs {
		switch p := &x.Pairs[i]; {
		case p.Conflict && p.Later.Kind == FactName:
			f.Renamed++
		case p.Later != nil && p.Earlier != nil && !p.Conflict:
			f.SameSlot++
			f.NumbersShared += fresh(&saidA, p.Later)
			fresh(&saidB, p.Earlier)
		default:
			if p.Conflict {
				f.OtherSlot++
			}
			if p.Later != nil {
				f.Adds++
			}
			f.OnlyA += fresh(&saidA, p.Later)
			f.OnlyB += fresh(&saidB, p.Earlier)
		}
	}
	f.Numbers = f.NumbersShared + min(f.OnlyA, f.OnlyB)
}

// nameMost bounds the names of a text that are compared.
const nameMost = 256

// compareNames fills the subjects of f. A name that the dictionary found in one text only may still stand in the
// other one, so both texts are searched.
func (w *workspace) compareNames(f *Facts) {
	repeated := func(own, other *side) (n int) {
		for i, k := 0, 0; i < len(own.names); i = k {
			name := own.names[i]
			for k = i; k < len(own.names) && own.names[k] == name; k++ {
			}
			if (k-i > 1 || strings.Contains(own.in.Title, name)) && !strings.Contains(other.in.Body, name) && !strings.Contains(other.in.Title, name) {
				n++
			}
		}
		return n
	}
	f.NamesA = w.newNames()
	f.SubjectsA, f.SubjectsB = repeated(&w.q, &w.c), repeated(&w.c, &w.q)
	f.SubjectsA += lacking(w.q.known, w.c.known, 2)
	f.SubjectsB += lacking(w.c.known, w.q.known, 2)
}

// bodies end the names of places, offices and those who publish. Rewordings name them too, as in a dateline.
var bodies = strings.Fields("网 社 报 新闻 央视 卫视 电视台 周刊 客户端 省 市 县 区 州 镇 乡 村 国 街道 公司 集团 股份 银行 证券 大学 学院 中学 医院 法院 队 局 部 委 会 厅 政府 办公室")

// newNames counts the distinct names of the query that the earlier text has nowhere, without bodies and persons: most are words (许可, 高达).
func (w *workspace) newNames() (n int) {
	q, c := &w.q, &w.c
	text := q.text[q.tokens[0].start:q.tokens[len(q.tokens)-1].end]
	for i, name := range q.names {
		if i > 0 && q.names[i-1] == name || personal(name) || slices.ContainsFunc(bodies, func(o string) bool { return strings.HasSuffix(name, o) }) {
			continue
		}
		if _, known := slices.BinarySearch(c.names, name); !known && strings.Contains(text, name) && !c.says(name) {
			n++
		}
	}
	return n
}
