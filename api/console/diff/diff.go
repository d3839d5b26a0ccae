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
	"sort"
	"strings"
	"unicode"

	"jianguo/compare"
)

// Text is an original text and its normal form. Origin gives, for a byte of the normal form, the bytes of the
// original that it comes from.
type Text struct {
	Original, Form string
	Origin         func(i int) (start, end int)
}

// Kind relates a part of a text to the other text.
type Kind string

// The kinds of a Span.
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

	matches []compare.Match // those that did not move
	a, b    side
}

// side is one text with its words, as parts of the original.
type side struct {
	name   string // a or b
	text   string
	tokens []compare.Span
	from   int // where the next row begins
	span   int // the span that is in
}

// A Form is a normal form, prepared to be compared.
type Form = compare.Doc

// NewForm prepares a normal form.
func NewForm(form string) *Form { return compare.NewDoc(&compare.Text{Body: form}) }

// shareLeast is how many words in a row are a part of another text, and no chance.
const shareLeast = 12

// Share is how much of a text stands in another one, in runs of shareLeast words or more, 0…1.
func Share(of, in *Form) float64 {
	x, n, all := compare.Align(of, in), 0, len(of.Tokens())
	for i := range all {
		if x.Later.Run(i) >= min(shareLeast, all) {
			n++
		}
	}
	return float64(n) / float64(max(1, all))
}

// Compare aligns two texts; a is the earlier one.
func Compare(a, b Text) *Result {
	x := compare.Align(NewForm(b.Form), NewForm(a.Form))
	r := &Result{SharedA: float64(x.Earlier.Covered), SharedB: float64(x.Later.Covered), Partial: x.Partial}
	r.a, r.b = a.side("a", &x.Earlier), b.side("b", &x.Later)
	kindA, kindB := slices.Repeat([]Kind{Only}, len(r.a.tokens)), slices.Repeat([]Kind{Only}, len(r.b.tokens))
	moveA, moveB := make([]int, len(kindA)), make([]int, len(kindB))
	for _, m := range x.Matches {
		kind := Same
		if m.Moved {
			r.Moves++
			kind = Moved
		} else {
			r.matches = append(r.matches, m)
		}
		for k := range m.N {
			kindA[m.Earlier+k], kindB[m.Later+k] = kind, kind
			if m.Moved {
				moveA[m.Earlier+k], moveB[m.Later+k] = r.Moves, r.Moves
			}
		}
	}
	for i := range kindB {
		if x.Later.Run(i) > 0 && kindB[i] == Only {
			kindB[i] = Aside // said again
		}
	}
	wordsA, wordsB := x.Earlier.Tokens(), x.Later.Tokens()
	for _, c := range x.Agreement().Conflicts {
		if !c.Name {
			r.Conflicts++
			mark(kindA, moveA, r.Conflicts, wordsA, c.Earlier)
			mark(kindB, moveB, r.Conflicts, wordsB, c.Later)
		}
	}
	r.A, r.B = spans(&r.a, kindA, moveA), spans(&r.b, kindB, moveB)
	r.Aside = slices.ContainsFunc(slices.Concat(r.A, r.B), func(s Span) bool { return s.Kind == Aside })
	return r
}

// side finds the words of an aligned normal form in its original.
func (t *Text) side(name string, x *compare.Side) side {
	words := x.Tokens()
	s := side{name: name, text: t.Original, tokens: make([]compare.Span, len(words))}
	last := 0
	for i, w := range words {
		start, _ := t.Origin(w.Start)
		_, end := t.Origin(w.End - 1)
		start = max(start, last) // words of one character (㍿) share its bytes
		last = max(start, end)
		s.tokens[i] = compare.Span{Start: start, End: last}
	}
	return s
}

// place is the offset of the i-th word, or of the line that it begins with a quotation mark or the like, and the
// characters between it and the word before.
func (s *side) place(i int) (at int, before string) {
	at = len(s.text)
	if i < len(s.tokens) {
		at = s.tokens[i].Start
	}
	if i == 0 {
		return 0, ""
	}
	end := s.tokens[i-1].End
	before = s.text[end:at]
	if line := strings.LastIndexByte(before, '\n'); line >= 0 {
		at = end + line + 1
	}
	return at, before
}

// residue reports whether there are words before the i-th word of the normal form.
func (s *side) residue(i int) bool {
	_, before := s.place(i)
	if i == 0 && len(s.tokens) > 0 {
		before = s.text[:s.tokens[0].Start]
	}
	return strings.ContainsFunc(before, func(r rune) bool { return unicode.IsLetter(r) || unicode.IsDigit(r) })
}

// mark marks those words of a fact that the other text has not got in its place, with the number of the conflict.
func mark(kinds []Kind, numbers []int, n int, words []compare.Span, f compare.Span) {
	i := sort.Search(len(words), func(i int) bool { return words[i].Start >= f.Start })
	for ; i < len(words) && words[i].End <= f.End; i++ {
		if kinds[i] == Only {
			kinds[i], numbers[i] = Conflict, n
		}
	}
}

// spans covers a text with spans. The characters between two words have the kind of both if it is the same, else
// they count as equal.
func spans(s *side, kinds []Kind, moves []int) (out []Span) {
	add := func(end int, k Kind, move int) {
		start := 0
		if n := len(out); n > 0 {
			start = out[n-1].End
			if out[n-1].Kind == k && out[n-1].Move == move {
				out[n-1].End = end
				return
			}
		}
		if end > start {
			out = append(out, Span{start, end, k, move})
		}
	}
	for i, t := range s.tokens {
		switch {
		case s.residue(i):
			add(t.Start, Aside, 0)
		case i > 0 && kinds[i-1] == kinds[i] && moves[i-1] == moves[i]:
			add(t.Start, kinds[i], moves[i])
		default:
			add(t.Start, Same, 0)
		}
		add(t.End, kinds[i], moves[i])
	}
	if s.residue(len(s.tokens)) {
		add(len(s.text), Aside, 0)
	}
	add(len(s.text), Same, 0)
	return out
}
