package compare

import (
	"slices"
	"sort"
	"strings"
	"time"
	"unicode/utf8"

	"jianguo/compare/quantity"
	"jianguo/data"
)

// Conflict is what two texts of one form have at one place: another quantity, or another subject.
type Conflict struct {
	Later, Earlier Span               // of the two Forms
	Name           bool               // else a quantity
	values         [2]*quantity.Value // where these are two
	Places         int                // how many places have these two
	Headline       bool               // both headlines say theirs
}

// Agreement counts what two texts have at places in common.
type Agreement struct {
	Conflicts []Conflict // one of each; neither text says anywhere what the other one says here
	// Subject is what each headline alone names, and its text at a place of its own, or else the first place of another
	// name; empty: nothing.
	Subject [2]string
	Equal   int // quantities that are equal, or may be

	sought int // bytes of texts that may still be searched for names
}

// has is Doc.Has within Limits.Sought, beyond which every text has everything.
func (g *Agreement) has(d *Doc, words string) bool {
	if g.sought -= len(d.Form) + len(d.Text.Title); g.sought < 0 {
		return true
	}
	return d.Has(words)
}

// slotMost is the length in tokens of the longest gap that is one place, fillingMost of what fills one place of a short
// form: an office and a name.
const slotMost, fillingMost = 12, 36

// Agreement compares what stands at the places of the gaps, and counts the equal quantities of the matches.
func (x *Alignment) Agreement() Agreement {
	g := Agreement{sought: x.limits.Sought}
	for _, said := range x.Later.said {
		if said {
			g.Equal++
		}
	}
	x.Gaps(func(later, earlier Span) {
		if !x.valuesAt(&g, later, earlier) && x.limits.Off != "names" {
			x.namesAt(&g, later, earlier)
		}
	})
	return g
}

// Gaps calls f with what both texts have of their own at one place, in the order of the later text. A single token in
// common within two words does not end a place: 华天科技 and 振华科技.
func (x *Alignment) Gaps(f func(later, earlier Span)) {
	l, e := &x.Later, &x.Earlier
	within := func(m Match) bool { return m.N == 1 && l.withinWord(m.Later) && e.withinWord(m.Earlier) }
	matches := slices.DeleteFunc(slices.Clone(x.Matches), within)
	for _, g := range between(matches, len(l.tokens), len(e.tokens)) {
		if g.both() && g.longer() <= slotMost {
			f(x.spans(g))
		}
	}
}

// spans are the stretches of a gap that both texts have.
func (x *Alignment) spans(g gap) (later, earlier Span) {
	return x.Later.span(g.a0, g.a1), x.Earlier.span(g.b0, g.b1)
}

// withinWord reports whether a token is part of a longer word.
func (d *Doc) withinWord(i int) bool { return d.inWord(i) || i+1 < len(d.tokens) && d.inWord(i+1) }

func (d *Doc) span(from, to int) Span {
	return Span{int(d.tokens[from].start), int(d.tokens[to-1].end)}
}

// overlapping is the range of the quantities that overlap with a span.
func (d *Doc) overlapping(s Span) (from, to int) {
	from = sort.Search(len(d.values), func(i int) bool { return d.values[i].End > s.Start })
	for to = from; to < len(d.values) && d.values[to].Start < s.End; to++ {
	}
	return from, to
}

// valuesAt adds the quantities of one place that are in conflict, and reports whether either text has any there.
func (x *Alignment) valuesAt(g *Agreement, a, b Span) bool {
	l, e := &x.Later, &x.Earlier
	first, last := l.overlapping(a)
	from, to := e.overlapping(b)
	found := first < last || from < to
	for i := first; i < last; i++ {
		for k := from; k < to; k++ {
			v, o := &l.values[i], &e.values[k]
			if v.MayBe(o) || !v.Comparable(o) {
				continue
			}
			if !l.said[i] && !e.said[k] && x.limits.Off != "quantities" {
				g.add(x, Conflict{Later: Span{v.Start, v.End}, Earlier: Span{o.Start, o.End},
					values: [2]*quantity.Value{v, o}})
			}
			from = k + 1
			break
		}
	}
	return found
}

// namesAt adds the names of one place, if each text has names there and none of them is anywhere in the other one; or
// else the words that neither text has anywhere but here, if the dictionary has neither: others may be synonyms.
func (x *Alignment) namesAt(g *Agreement, a, b Span) {
	l, e := x.Later.Doc, x.Earlier.Doc
	if g.sought < 0 {
		return
	}
	nameA, okA := g.unknownName(l, a, e)
	nameB, okB := g.unknownName(e, b, l)
	if !okA || !okB {
		nameA, nameB = l.wholeWords(a), e.wholeWords(b)
		textA, textB := l.text(nameA), e.text(nameB)
		if !l.unlisted(nameA) || !e.unlisted(nameB) || strings.Contains(textA, "\n") ||
			strings.Contains(textB, "\n") || g.has(e, textA) || g.has(l, textB) {
			return
		}
	}
	if g.Subject[0] == "" { // in whole words: a name may be a part of one that the dictionary does not have
		g.Subject = [2]string{l.text(l.wholeWords(a)), e.text(e.wholeWords(b))}
	}
	g.add(x, Conflict{Later: nameA, Earlier: nameB, Name: true})
}

// unlisted reports whether a word is a Latin one of two letters or more, such as a brand or an identifier, or two words
// in a row have one character each: of what the dictionary does not have, such as most names of companies and small
// towns, the segmenter makes single characters. A whole text may be one word, such as 1-12-23: it is not read.
func (d *Doc) unlisted(s Span) bool {
	row := 0
	for w := range d.words(s) {
		word := d.text(w)
		_, first := utf8.DecodeRuneInString(word)
		if row++; first < len(word) {
			row = 0
		}
		if row > 1 || len(word) > 1 && alphabetic(word[0]) {
			return true
		}
	}
	return false
}

// unknownName is the first name of a stretch, if another text has none of its names.
func (g *Agreement) unknownName(d *Doc, s Span, other *Doc) (first Span, ok bool) {
	names := d.names(s)
	if len(names) == 0 || slices.ContainsFunc(names, func(n Span) bool { return g.has(other, d.text(n)) }) {
		return first, false
	}
	return names[0], true
}

// Has reports whether a text or its headline contains some words, but not as a part of a Latin word or a number.
func (d *Doc) Has(words string) bool { return contains(d.Form, words) || contains(d.Text.Title, words) }

func contains(text, words string) bool {
	inside := func(i int) bool {
		return i > 0 && i < len(text) && alphanumeric(text[i-1]) && alphanumeric(text[i])
	}
	for from := 0; ; {
		i := strings.Index(text[from:], words)
		if from += i; i < 0 || !inside(from) && !inside(from+len(words)) {
			return i >= 0
		}
		from += len(words)
	}
}

// wholeWords widens a span to whole words.
func (d *Doc) wholeWords(s Span) Span {
	for w := range d.words(s) {
		s = Span{min(s.Start, w.Start), max(s.End, w.End)}
	}
	return s
}

// add counts a conflict once more, or adds it.
func (g *Agreement) add(x *Alignment, c Conflict) {
	a, b := x.Later.text(c.Later), x.Earlier.text(c.Earlier)
	again := func(o Conflict) bool {
		return o.Name == c.Name && x.Later.text(o.Later) == a && x.Earlier.text(o.Earlier) == b
	}
	if i := slices.IndexFunc(g.Conflicts, again); i >= 0 {
		g.Conflicts[i].Places++
		return
	}
	c.Places = 1
	c.Headline = strings.Contains(x.Later.headline, a) && strings.Contains(x.Earlier.headline, b)
	g.Conflicts = append(g.Conflicts, c)
}

// ownDays reports whether two quantities are the days on which each text was published.
func (x *Alignment) ownDays(v, o *quantity.Value) bool {
	return on(v, x.Later.Text.Published) && on(o, x.Earlier.Text.Published)
}

// on reports whether a quantity is a day, or the one before it or after it: a feed gives its times in UTC, and an
// article of the night tells of the day before.
func on(v *quantity.Value, day int32) bool {
	for d := day - 1; d <= day+1 && v.Kind == quantity.Date && int(v.Low)%100 > 0; d++ {
		t := time.Unix(int64(d)*24*60*60, 0).UTC()
		day := float64(t.Year()*10000 + int(t.Month())*100 + t.Day())
		if v.MayBe(&quantity.Value{Kind: quantity.Date, Low: day, High: day}) {
			return true
		}
	}
	return false
}

// sentence reports whether both texts are about a sentence long, so that one word may turn what they say.
func (x *Alignment) sentence() bool {
	return max(len(x.Later.tokens), len(x.Earlier.tokens)) <= sentenceMost
}

// sentenceMost is the length of a long sentence, in tokens.
const sentenceMost = 60

// denial is a word that denies a sentence, in one text alone; empty: none.
func (x *Alignment) denial() string {
	for word := range strings.Lines(data.Denials) {
		word = strings.TrimSpace(word)
		if x.limits.Off != "denials" && x.sentence() && word[0] != '#' && x.Later.Has(word) != x.Earlier.Has(word) {
			return word
		}
	}
	return ""
}

// exchanged reports whether words of a sentence have changed places: both texts have a pair of tokens in a row, a Latin
// word or a number outside of what is common in order, or each has at one place what the other one has at another.
func (x *Alignment) exchanged() bool {
	if !x.sentence() || x.limits.Off == "exchanged" {
		return false
	}
	var later, earlier [][2]uint32
	places := map[[2]string]bool{}
	for _, g := range x.gaps() {
		later = x.Later.pairs(later, x.Earlier.Doc, g.a0, g.a1)
		earlier = x.Earlier.pairs(earlier, x.Later.Doc, g.b0, g.b1)
		if g.both() {
			a, b := x.spans(g)
			ours, theirs := x.Later.text(a), x.Earlier.text(b)
			if places[[2]string{ours, theirs}] = true; places[[2]string{theirs, ours}] {
				return true
			}
		}
	}
	return slices.ContainsFunc(later, func(pair [2]uint32) bool { return slices.Contains(earlier, pair) })
}

// pairs appends the pairs of tokens in a row, and the Latin words and numbers, without those of clauses that the other
// text has as they are.
func (s *Side) pairs(out [][2]uint32, other *Doc, from, to int) [][2]uint32 {
	for i := from; i < to; i++ {
		clause, t := s.Clause(int(s.tokens[i].start)), s.tokens[i]
		if other.Has(s.Form[clause.Start:clause.End]) {
			continue
		}
		if t.latin() || t.number() {
			out = append(out, [2]uint32{t.id})
		}
		if i+1 < to && int(s.tokens[i+1].start) < clause.End {
			out = append(out, [2]uint32{t.id, s.tokens[i+1].id})
		}
	}
	return out
}

// A form is what two texts have in common if they say something else at its slots.
type form struct {
	words [2]string // at the first slot
	slots int       // where neither text has the other's words anywhere
	nouns int       // slots with a noun on both sides
	added int       // other differences
}

// form compares two texts as fillings of one form.
func (x *Alignment) form() (f form) {
	l, e := x.Later.Doc, x.Earlier.Doc
	seek, most := Agreement{sought: x.limits.Sought}, slotMost
	if x.short() {
		most = fillingMost
	}
	for _, g := range x.gaps() {
		if !g.both() || g.longer() > most {
			f.added++
		} else if a, b, ok := x.wordsAt(g); ok && !seek.has(e, l.text(a)) && !seek.has(l, e.text(b)) {
			noun := l.noun(a) && e.noun(b)
			if f.slots++; noun {
				f.nouns++
			}
			if f.slots == 1 || noun && f.nouns == 1 {
				f.words = [2]string{l.text(a), e.text(b)}
			}
		}
	}
	return f
}

// anotherMatter reports whether two fillings are of two matters: in short texts one slot is enough, in a sentence
// whatever else is different. Of longer texts most slots have nouns: other words may be synonyms.
func (x *Alignment) anotherMatter(f form) bool {
	alike := float64(f.added) <= x.limits.Added*float64(f.slots)
	switch {
	case f.slots == 0 || x.Later.Text.Traditional != x.Earlier.Text.Traditional || x.limits.Off == "replaced":
		return false
	case x.short():
		return alike || x.sentence()
	}
	return alike && f.nouns >= x.limits.Slots && 2*f.nouns >= f.slots
}

// alignHeadlines aligns the headlines alone, with what stands behind either if it stands behind both.
func (x *Alignment) alignHeadlines() *Alignment {
	later, earlier := x.Later.Text.Title, x.Earlier.Text.Title
	a, b := x.Later.headline, x.Earlier.headline
	behindA, behindB := strings.TrimPrefix(later, a), strings.TrimPrefix(earlier, b)
	if max(len(later), len(earlier)) <= headlineMost && strings.HasSuffix(earlier, behindA) &&
		strings.HasSuffix(later, behindB) {
		a, b = later, earlier
	}
	headline := func(d *Doc, text string) *Doc { return NewDoc(&Text{Body: text, Traditional: d.Text.Traditional}) }
	return align(headline(x.Later.Doc, a), headline(x.Earlier.Doc, b), x.limits)
}

// clauseOf is the clause of the first of some words, which is part of a headline.
func (d *Doc) clauseOf(words string) string {
	return d.text(d.Clause(max(0, strings.Index(d.Form, words))))
}

// wordsAt is what two texts say at a place within a clause, in whole words. A single character tells volumes or
// colours apart as a clause, too.
func (x *Alignment) wordsAt(g gap) (later, earlier Span, ok bool) {
	l, e := &x.Later, &x.Earlier
	both := func(a, b int) bool { // both texts go on with one token
		return min(a, b) >= 0 && a < len(l.tokens) && b < len(e.tokens) && l.tokens[a].id == e.tokens[b].id
	}
	within := !l.begins(g.a0) && !e.begins(g.b0) || both(g.a1, g.b1) && !l.begins(g.a1) && !e.begins(g.b1)
	if !within && g.longer() > 1 {
		return later, earlier, false
	}
	for (l.inWord(g.a0) || e.inWord(g.b0)) && both(g.a0-1, g.b0-1) {
		g.a0, g.b0 = g.a0-1, g.b0-1
	}
	for both(g.a1, g.b1) && (l.inWord(g.a1) || e.inWord(g.b1)) {
		g.a1, g.b1 = g.a1+1, g.b1+1
	}
	later, earlier = x.spans(g)
	return later, earlier, true
}

// inWord reports whether a word begins before a token, and has it.
func (d *Doc) inWord(i int) bool { return len(d.Text.Words) > 0 && !d.wordAt(int(d.tokens[i].start)) }
