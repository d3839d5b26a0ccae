package console

import (
	"context"
	"strings"
	"unicode/utf8"

	"jianguo/api/console/diff"
	"jianguo/index"
	"jianguo/internal/must"
)

// comparison is two articles side by side, for the template.
type comparison struct {
	A, B   *index.Item
	Groups []group
	// SharedA and SharedB are the share of each text that the other has, 0…1.
	SharedA, SharedB float64
	Moves, Conflicts int
	Missing          []string // of the two, whose text was not kept
	Cut, Partial     bool
	AllSame          bool
	When             string // how long before B A was published
	Late             bool   // B was published before A
}

// group is one row that differs, or several equal rows, folded.
type group struct {
	Rows       []row
	Fold       bool
	Paragraphs int
	Characters int
}

type row struct {
	A, B []piece
	Same bool
}

// piece is a part of a text, and its kind: what it is to the other text.
type piece struct {
	Text string
	Kind string // same, only, moved, conflict, aside
	Side string // a or b
	Move int
}

// foldFrom is how many equal characters are folded at least.
const foldFrom = 120

// comparing compares two items; the title counts as the first paragraph of each.
func (p *page) comparing(a, b *index.Item) *comparison {
	v := &comparison{A: a, B: b}
	textA, textB := v.text(a), v.text(b)
	r := p.c.words.compare(textA, textB)
	v.Moves, v.Conflicts, v.Partial = r.Moves, r.Conflicts, r.Partial
	v.SharedA, v.SharedB = r.SharedA, r.SharedB
	if e := judged(b, a.ID); e != nil && e.Facts != nil && e.Facts.Coverage != nil {
		// The numbers of the sentence.
		v.SharedA, v.SharedB = float64(e.Facts.Coverage.Earlier), float64(e.Facts.Coverage.Later)
	}
	v.When, v.Late = p.Ahead(a, b)
	v.AllSame = true
	var same []row
	flush := func() {
		if len(same) == 0 {
			return
		}
		g := group{Rows: same, Paragraphs: len(same)}
		for _, s := range same {
			for _, piece := range s.B {
				g.Characters += utf8.RuneCountInString(piece.Text)
			}
		}
		g.Fold = g.Characters >= foldFrom
		v.Groups = append(v.Groups, g)
		same = nil
	}
	for _, d := range r.Rows() {
		s := row{A: pieces(textA, d.A, "a"), B: pieces(textB, d.B, "b"), Same: d.Same}
		if d.Same {
			same = append(same, s)
			continue
		}
		flush()
		v.AllSame = false
		v.Groups = append(v.Groups, group{Rows: []row{s}})
	}
	flush()
	return v
}

// judged is the event by which an item was judged against another one; nil: there is none.
func judged(it *index.Item, of string) *index.Event {
	for i := range it.History {
		if e := &it.History[i]; e.Of == of && (e.Cause == index.CauseIngest || e.Cause == index.CauseRevision) {
			return e
		}
	}
	return nil
}

func (v *comparison) text(it *index.Item) string {
	if it.Body == nil {
		v.Missing = append(v.Missing, it.ID)
		return visible(it.Title)
	}
	text, cut := plain(*it.Body)
	v.Cut = v.Cut || cut
	if title := strings.TrimSpace(visible(it.Title)); title != "" {
		return title + "\n" + text
	}
	return text
}

func pieces(text string, spans []diff.Piece, side string) (out []piece) {
	for _, s := range spans {
		out = append(out, piece{Text: text[s.Start:s.End], Kind: s.Kind.String(), Side: side, Move: s.Move})
	}
	return out
}

// compare is the page of two items side by side.
func (c *Console) compare(ctx context.Context, p *page) string {
	a, b := must.Get(c.cfg.Index.Item(ctx, p.e.QueryParam("a"))), must.Get(c.cfg.Index.Item(ctx, p.e.QueryParam("b")))
	p.Title, p.Data = p.T("对照", "Side by side"), p.comparing(a, b)
	return "compare"
}
