package console

import (
	"context"
	"math"

	"jianguo/api/console/diff"
	"jianguo/compare/reason"
	"jianguo/index"
	"jianguo/ingest"
	"jianguo/internal/must"
	"jianguo/segment"
)

// comparison is two articles side by side, for the template.
type comparison struct {
	*diff.Result
	Earlier, Later *index.Item
	Missing        []string // of the two, whose text was not kept
	Cut            bool
	New            int    // characters, by the verdict; 0: it does not say
	Rest           int    // percent of Later that is neither new nor word for word in Earlier
	When           string // how long before Later Earlier was published
	Ahead          int    // 1: Earlier was published first, -1: Later was; 0: it is not known
}

// AllSame reports whether nothing differs.
func (v *comparison) AllSame() bool { return len(v.Rows) == 0 || len(v.Rows) == 1 && v.Rows[0].Same }

// comparisonOf compares two items; the title counts as the first paragraph of each.
func (p *page) comparisonOf(a, b *index.Item) *comparison {
	v, e := &comparison{Earlier: a, Later: b}, eventAgainst(b, a.ID)
	v.Result = diff.Compare(v.text(p.c.cfg.Segmenter, a), v.text(p.c.cfg.Segmenter, b))
	if e != nil && e.Facts != nil && e.Facts.Coverage != nil {
		// The numbers of the sentence.
		v.SharedA, v.SharedB = float64(e.Facts.Coverage.Earlier), float64(e.Facts.Coverage.Later)
		if n := e.Facts.New; n != nil {
			v.New, v.Rest = n.Characters, max(0, int(math.Round(100*(1-v.SharedB-float64(n.Share)))))
		}
	}
	v.When, v.Ahead = p.Ahead(a, b)
	return v
}

// eventAgainst is the event by which an item was judged against another one; nil: there is none.
func eventAgainst(it *index.Item, of string) *index.Event {
	for i := range it.History {
		if e := &it.History[i]; e.Of == of && (e.Cause == index.CauseIngest || e.Cause == index.CauseRevision) {
			return e
		}
	}
	return nil
}

func (v *comparison) text(s *segment.Segmenter, it *index.Item) *reason.Original {
	body := ""
	if it.Body == nil {
		v.Missing = append(v.Missing, it.ID)
	} else {
		body = *it.Body
	}
	text, cut := readable(ingest.Original(s, it.Title, body))
	v.Cut = v.Cut || cut
	return text
}

func (c *Console) compare(ctx context.Context, p *page) string {
	a, b := must.Get(c.cfg.Index.Item(ctx, p.e.QueryParam("a"))), must.Get(c.cfg.Index.Item(ctx, p.e.QueryParam("b")))
	return p.show("compare", "", "对照", "Side by side", p.comparisonOf(a, b))
}
