package diff

import (
	"slices"
	"strings"
	"unicode/utf8"

	"jianguo/compare"
)

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
