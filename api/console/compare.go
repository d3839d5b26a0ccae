package console

import (
	"context"
	"math"
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
	Aside            bool // something is shown that does not count
	New              int  // characters, by the verdict; 0: it does not say
	Rest             int  // percent of B that is neither new nor word for word in A
	AllSame          bool
	When             string // how long before B A was published
	Ahead            int    // 1: A was published first, -1: B was; 0: it is not known
}

// group is one row that differs, or several equal rows, folded.
type group struct {
	Rows       []diff.Row
	Fold       bool
	Characters int // of equal rows
}

// foldFrom is how many equal characters are folded at least.
const foldFrom = 120

// comparing compares two items; the title counts as the first paragraph of each.
func (p *page) comparing(a, b *index.Item) *comparison {
	v, e := &comparison{A: a, B: b}, judged(b, a.ID)
	r := p.c.words.compare(v.text(a), v.text(b))
	v.Moves, v.Conflicts, v.Partial = r.Moves, r.Conflicts, r.Partial
	v.SharedA, v.SharedB, v.Aside = r.SharedA, r.SharedB, r.Aside
	if e != nil && e.Facts != nil && e.Facts.Coverage != nil {
		// The numbers of the sentence.
		v.SharedA, v.SharedB = float64(e.Facts.Coverage.Earlier), float64(e.Facts.Coverage.Later)
		if n := e.Facts.New; n != nil {
			v.New, v.Rest = n.Characters, max(0, int(math.Round(100*(1-v.SharedB-float64(n.Share)))))
		}
	}
	v.When, v.Ahead = p.Ahead(a, b)
	v.AllSame = true
	var equal *group // the last one, as long as rows are equal
	for _, row := range r.Rows() {
		if equal == nil || !row.Same {
			v.Groups = append(v.Groups, group{})
			equal = &v.Groups[len(v.Groups)-1]
		}
		equal.Rows = append(equal.Rows, row)
		if !row.Same {
			equal, v.AllSame = nil, false
			continue
		}
		for _, piece := range row.B {
			equal.Characters += utf8.RuneCountInString(piece.Text)
		}
		equal.Fold = equal.Characters >= foldFrom
	}
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
	text, cut := readableText(*it.Body)
	v.Cut = v.Cut || cut
	if title := strings.TrimSpace(visible(it.Title)); title != "" {
		return title + "\n" + text
	}
	return text
}

// compare is the page of two items side by side.
func (c *Console) compare(ctx context.Context, p *page) string {
	a, b := must.Get(c.cfg.Index.Item(ctx, p.e.QueryParam("a"))), must.Get(c.cfg.Index.Item(ctx, p.e.QueryParam("b")))
	return p.show("compare", "", "对照", "Side by side", p.comparing(a, b))
}
