package console

import (
	"cmp"
	"context"
	"errors"
	"math"
	"strings"

	"jianguo/index"
	"jianguo/ingest"
	"jianguo/internal/must"
	"jianguo/segment"
	"jianguo/simhash"
)

// itemView is the page of an item.
type itemView struct {
	*index.Item
	Title     string      // the beginning of the text where there is none
	Lead      *index.Item // what it was judged against; nil: nothing
	Cluster   uint32
	Size      int // members of its story
	Leads     bool
	Compare   *comparison
	Text      []string // its paragraphs, where there is nothing to compare it with
	Cut       bool
	Decisions []index.Decision
	Prints    []printView
	Policy    string // of its source
}

// printView is a fingerprint as a picture.
type printView struct {
	ID   string
	Hex  string
	Bits []bit
}

// bit is one of the 64 squares of a fingerprint's picture.
type bit struct {
	X, Y   int
	Set    bool
	Weak   int // 0 (strong) to 3
	Differ bool
}

func (c *Console) item(ctx context.Context, p *page) string {
	p.notices(ctx)
	v := c.itemView(ctx, p, p.e.QueryParam("id"))
	p.Title, p.Data = cmp.Or(v.Title, v.ID), v
	return "item"
}

func (c *Console) itemView(ctx context.Context, p *page, id string) *itemView {
	it := must.Get(c.cfg.Index.Item(ctx, id))
	v := &itemView{Item: it, Title: it.Title, Cluster: it.Event.Cluster}
	if v.Title == "" && it.Body != nil {
		text, _ := plain(*it.Body)
		text, _, _ = strings.Cut(text, "\n")
		v.Title = shortened(text, 41)
	}
	against := it.Event.Of
	if against == "" {
		// Released or withdrawn: the article it was judged against still explains it.
		for _, e := range it.History {
			if against = e.Of; against != "" {
				break
			}
		}
	}
	story, err := c.cfg.Browse.Story(ctx, v.Cluster, 0, 1)
	if !errors.Is(err, index.ErrNotFound) {
		must.Do(err)
		v.Cluster, v.Size = story.ID, story.Size
		v.Leads = story.Lead != nil && story.Lead.ID == it.ID
	}
	if against != "" && against != it.ID {
		if v.Lead, err = c.cfg.Index.Item(ctx, against); !errors.Is(err, index.ErrNotFound) {
			must.Do(err)
		}
	}
	if v.Lead != nil {
		v.Compare = p.comparing(v.Lead, it)
	} else if it.Body != nil {
		text, cut := plain(*it.Body)
		if v.Cut = cut; text != "" {
			v.Text = strings.Split(text, "\n")
		}
	}
	v.Decisions = must.Get(c.cfg.Index.Decisions(ctx, index.DecisionQuery{Item: it.ID, Limit: 20}))
	p.knowDecisions(ctx, v.Decisions)
	v.Policy = must.Get(c.cfg.Index.SourcePolicies(ctx))[it.Source].Policy
	v.Prints = c.prints(it, v.Lead)
	return v
}

// prints draws the fingerprints of an item and of the one it was judged against.
// The margins of bits are computed from the text, if it was kept.
func (c *Console) prints(it, lead *index.Item) []printView {
	own, ok := c.print(it)
	if !ok {
		return nil
	}
	views := []printView{{ID: it.ID, Hex: own.Fingerprint.String(), Bits: bits(own, own.Fingerprint)}}
	if lead == nil {
		return views
	}
	if other, ok := c.print(lead); ok {
		views[0].Bits = bits(own, other.Fingerprint)
		views = append(views, printView{ID: lead.ID, Hex: other.Fingerprint.String(), Bits: bits(other, own.Fingerprint)})
	}
	return views
}

func (c *Console) print(it *index.Item) (simhash.Print, bool) {
	f, err := simhash.Parse(it.Event.Fingerprint)
	if err != nil {
		return simhash.Print{}, false
	}
	p := simhash.Print{Fingerprint: f}
	if it.Body != nil {
		text := c.words.texts.Get().(*segment.Text)
		defer c.words.texts.Put(text)
		a := ingest.Prepare(c.cfg.Segmenter, text, &ingest.Item{ID: it.ID, Title: it.Title, Body: *it.Body})
		if a.Print.Fingerprint == f { // else it was made by another recipe
			p.Margins = a.Print.Margins
		}
	}
	return p, true
}

func bits(p simhash.Print, other simhash.Fingerprint) []bit {
	out := make([]bit, simhash.Bits)
	var sum float64
	for _, m := range p.Margins {
		sum += float64(m)
	}
	for i := range out {
		n := simhash.Bits - 1 - i // the highest bit first, as it is written
		out[i] = bit{X: i % 8, Y: i / 8, Set: p.Fingerprint>>n&1 == 1, Differ: (p.Fingerprint^other)>>n&1 == 1}
		if sum > 0 {
			// The margins' mean square is 1.
			out[i].Weak = 3 - int(math.Min(3, float64(p.Margins[n])*3))
		}
	}
	return out
}
