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

// Rows lays out a result: it cuts both texts at ends of paragraphs between words
// that match. Rows that are the same are one.
func (r *Result) Rows() []Row {
	l := layout{r: r, a: r.a, b: r.b}
	for n, m := range r.matches {
		for k := range m.N {
			l.cut(m.Earlier+k, m.Later+k, false, false)
		}
		next := compare.Match{Earlier: len(r.a.tokens), Later: len(r.b.tokens)}
		if n+1 < len(r.matches) {
			next = r.matches[n+1]
		}
		l.cut(m.Earlier+m.N, m.Later+m.N, m.Earlier+m.N < next.Earlier, m.Later+m.N < next.Later)
	}
	l.flush(len(r.a.text), len(r.b.text))
	return l.rows
}

type layout struct {
	r    *Result
	a, b side
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

func (l *layout) flush(atA, atB int) {
	row := Row{A: l.a.take(l.r.A, atA), B: l.b.take(l.r.B, atB)}
	if len(row.A)+len(row.B) == 0 {
		return
	}
	row.Same = !slices.ContainsFunc(row.A, differs) && !slices.ContainsFunc(row.B, differs)
	if n := len(l.rows); n > 0 && row.Same && l.rows[n-1].Same {
		last := &l.rows[n-1]
		last.A, last.B = append(last.A, row.A...), append(last.B, row.B...)
		return
	}
	l.rows = append(l.rows, row)
}

// take removes and returns the spans up to an offset.
func (s *side) take(spans []Span, to int) (out []Piece) {
	for s.from < to && s.span < len(spans) {
		p := spans[s.span]
		p.Start, p.End = s.from, min(p.End, to)
		out = append(out, Piece{p, s.text[p.Start:p.End], s.name})
		s.from = p.End
		if p.End == spans[s.span].End {
			s.span++
		}
	}
	return out
}

func differs(p Piece) bool { return p.Kind != Same && p.Kind != Aside }
