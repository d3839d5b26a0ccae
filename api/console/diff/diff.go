// Package diff draws the alignment of two texts (compare.Alignment) on their originals: what both have, what only
// one has, which passages moved, and which facts conflict. The judge and the sentence of a verdict come from the
// same alignment.
//
// Whatever lies between the words of the normal form (punctuation, spaces, invisible characters, page residue) is
// never a difference; words among it are page residue. Compare covers each text with Spans: together they are the
// text, byte for byte.
package diff

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"jianguo/compare"
	"jianguo/compare/reason"
)

// Kind relates a part of a text to the other text.
type Kind string

const (
	Same     Kind = "same"     // in both, in the same place
	Only     Kind = "only"     // in this text alone
	Moved    Kind = "moved"    // in both, in another place
	Conflict Kind = "conflict" // a fact where the other text has another one
	Aside    Kind = "aside"    // what does not count: page residue, and what the text says again
)

// Span is a part Start:End of one original.
type Span struct {
	Start, End int
	Kind       Kind
	// Move numbers the moved passages from 1, and the conflicts; both sides have the same number.
	Move int
}

// Result is the comparison of two texts.
type Result struct {
	A, B []Span
	// SharedA and SharedB are the shares of the words that each text has in common with the other, moved ones
	// included, 0…1.
	SharedA, SharedB float64
	Moves, Conflicts int
	Aside            bool // there is a Span of this kind
	Partial          bool
	Rows             []Row
}

// A Form is a normal form, prepared to be compared.
type Form = compare.Doc

func NewForm(form string) *Form { return compare.NewDoc(&compare.Text{Body: form}) }

// minRun is how many words in a row, at least, count as a part of another text, and not as chance.
const minRun = 12

// Share is how much of a text stands in another one, in runs of minRun words or more, 0…1.
func Share(of, in *Form) float64 {
	x, n, all := compare.Align(of, in), 0, len(of.Tokens())
	for i := range all {
		if x.Later.Run(i) >= min(minRun, all) {
			n++
		}
	}
	return float64(n) / float64(max(1, all))
}

// Compare aligns two texts; a is the earlier one.
func Compare(a, b *reason.Original) *Result {
	x := compare.Align(NewForm(b.Form), NewForm(a.Form))
	r := &Result{SharedA: float64(x.Earlier.Covered), SharedB: float64(x.Later.Covered), Partial: x.Partial}
	earlier, later := sideOf("a", a, &x.Earlier), sideOf("b", b, &x.Later)
	for _, m := range x.Matches {
		kind, move := Same, 0
		if m.Moved {
			r.Moves++
			kind, move = Moved, r.Moves
		}
		for k := range m.N {
			earlier.words[m.Earlier+k].is(kind, move)
			later.words[m.Later+k].is(kind, move)
		}
	}
	for i := range later.words {
		if w := &later.words[i]; x.Later.Run(i) > 0 && w.Kind == Only {
			w.Kind = Aside // said again
		}
	}
	for _, c := range x.Agreement().Conflicts {
		if !c.Name {
			r.Conflicts++
			earlier.mark(c.Earlier, r.Conflicts)
			later.mark(c.Later, r.Conflicts)
		}
	}
	r.A, r.B = earlier.cover(), later.cover()
	r.Aside = slices.ContainsFunc(slices.Concat(r.A, r.B), func(s Span) bool { return s.Kind == Aside })
	r.Rows = rows(earlier, later, slices.DeleteFunc(x.Matches, func(m compare.Match) bool { return m.Moved }))
	return r
}

type side struct {
	name  string // a or b
	text  string
	words []Span         // as parts of the text
	form  []compare.Span // the words as parts of the normal form
	spans []Span         // of them those that no row has yet
	from  int            // where the next row begins
}

// sideOf finds the words of an aligned normal form in its original.
func sideOf(name string, t *reason.Original, x *compare.Side) *side {
	s := &side{name: name, text: t.Text, form: x.Tokens()}
	last := 0
	for _, w := range s.form {
		start, _ := t.Origin(w.Start)
		_, end := t.Origin(w.End - 1)
		start = max(start, last) // words of one character (㍿) share its bytes
		last = max(start, end)
		s.words = append(s.words, Span{Start: start, End: last, Kind: Only})
	}
	return s
}

func (s *Span) is(k Kind, move int) { s.Kind, s.Move = k, move }

func (s Span) like(o Span) bool { return s.Kind == o.Kind && s.Move == o.Move }

// gap is what stands between a word and the one before.
func (s *side) gap(i int) (start, end int) {
	end = len(s.text)
	if i > 0 {
		start = s.words[i-1].End
	}
	if i < len(s.words) {
		end = s.words[i].Start
	}
	return start, end
}

// mark marks those words of a fact that the other text has not got in its place, with the number of the conflict.
func (s *side) mark(fact compare.Span, n int) {
	i, _ := slices.BinarySearchFunc(s.form, fact.Start, func(w compare.Span, at int) int { return w.Start - at })
	for ; i < len(s.form) && s.form[i].End <= fact.End; i++ {
		if s.words[i].Kind == Only {
			s.words[i].is(Conflict, n)
		}
	}
}

// cover covers a text with spans. What stands between two words is aside if there are words in it. Else it has the
// kind of both if that is the same, or counts as equal.
func (s *side) cover() []Span {
	for i := range len(s.words) + 1 {
		start, end := s.gap(i)
		between := Span{start, end, Same, 0}
		switch {
		case len(s.words) > 0 && strings.ContainsFunc(s.text[start:end],
			func(r rune) bool { return unicode.IsLetter(r) || unicode.IsDigit(r) }):
			between.Kind = Aside
		case i > 0 && i < len(s.words) && s.words[i-1].like(s.words[i]):
			between.is(s.words[i].Kind, s.words[i].Move)
		}
		if s.add(between); i < len(s.words) {
			s.add(s.words[i])
		}
	}
	return s.spans
}

func (s *side) add(p Span) {
	if n := len(s.spans); n > 0 && s.spans[n-1].like(p) {
		s.spans[n-1].End = p.End
	} else if p.End > p.Start {
		s.spans = append(s.spans, p)
	}
}

// Piece is a part of a row. Its Side is a or b.
type Piece struct {
	Span
	Text, Side string
}

// Row is a pair of passages that correspond. Either side may be empty.
// The passages of a side, row after row, are its text, byte for byte.
type Row struct {
	A, B []Piece
	Same bool // nothing differs in the row
}

// Characters is the length of the later side.
func (r *Row) Characters() (n int) {
	for _, p := range r.B {
		n += utf8.RuneCountInString(p.Text)
	}
	return n
}

// rowLength is from how many bytes on the end of a sentence ends a row; a text
// without paragraphs would otherwise be one row.
const rowLength = 900

// rows cuts both texts at ends of paragraphs between words that match and did not move. Rows that are the same
// are one.
func rows(a, b *side, matches []compare.Match) []Row {
	l := layout{a: a, b: b}
	for n, m := range matches {
		for k := range m.N {
			l.cut(m.Earlier+k, m.Later+k, false, false)
		}
		next := compare.Match{Earlier: len(a.words), Later: len(b.words)}
		if n+1 < len(matches) {
			next = matches[n+1]
		}
		l.cut(m.Earlier+m.N, m.Later+m.N, m.Earlier+m.N < next.Earlier, m.Later+m.N < next.Later)
	}
	l.flush(len(a.text), len(b.text))
	return l.rows
}

type layout struct {
	a, b *side
	rows []Row
}

// cut ends the row before these words if a paragraph ends there on either side,
// or if the row is long and a sentence ends on both. Words that only one side has
// (onlyA, onlyB) stay in the row before them unless they begin a paragraph.
func (l *layout) cut(i, j int, onlyA, onlyB bool) {
	atA, beforeA := l.a.place(i)
	atB, beforeB := l.b.place(j)
	if atA <= l.a.from && atB <= l.b.from {
		return
	}
	endsA, endsB := strings.Contains(beforeA, "\n"), strings.Contains(beforeB, "\n")
	if onlyA && !endsA || onlyB && !endsB {
		return
	}
	long := max(atA-l.a.from, atB-l.b.from) > rowLength
	if endsA || endsB ||
		long && strings.ContainsAny(beforeA, "。！？.!?") && strings.ContainsAny(beforeB, "。！？.!?") {
		l.flush(atA, atB)
	}
}

// place is the offset of the i-th word, or of the line that it begins with a quotation mark or the like, and the
// characters between it and the word before.
func (s *side) place(i int) (at int, before string) {
	if i == 0 {
		return 0, ""
	}
	start, at := s.gap(i)
	before = s.text[start:at]
	if line := strings.LastIndexByte(before, '\n'); line >= 0 {
		at = start + line + 1
	}
	return at, before
}

func (l *layout) flush(atA, atB int) {
	row := Row{A: l.a.take(atA), B: l.b.take(atB)}
	if len(row.A)+len(row.B) == 0 {
		return
	}
	row.Same = !slices.ContainsFunc(slices.Concat(row.A, row.B),
		func(p Piece) bool { return p.Kind != Same && p.Kind != Aside })
	if n := len(l.rows); n > 0 && row.Same && l.rows[n-1].Same {
		last := &l.rows[n-1]
		last.A, last.B = append(last.A, row.A...), append(last.B, row.B...)
		return
	}
	l.rows = append(l.rows, row)
}

// take removes and returns the spans up to an offset.
func (s *side) take(to int) (out []Piece) {
	for s.from < to && len(s.spans) > 0 {
		p := s.spans[0]
		p.Start, p.End = s.from, min(p.End, to)
		out = append(out, Piece{p, s.text[p.Start:p.End], s.name})
		if s.from = p.End; p.End == s.spans[0].End {
			s.spans = s.spans[1:]
		}
	}
	return out
}
