package console

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"

	"jianguo/index"
	"jianguo/ingest"
	"jianguo/internal/must"
)

type itemView struct {
	*index.Item
	Title     string      // the beginning of the text where there is none
	Lead      *index.Item // what it was judged against; nil: nothing
	Story     *index.Item // the lead of the story, where Lead is a copy in it that equals the item
	Cluster   uint32
	Size      int // members of its story
	Leads     bool
	Blocked   bool // what it repeats is blocked
	Compare   *comparison
	Text      []string // its paragraphs, where there is nothing to compare it with
	Cut       bool
	Decisions []index.Decision
	Policy    string // of its source, with its strictness if it has one
}

func (c *Console) item(ctx context.Context, p *page) string {
	v := c.itemView(ctx, p, p.e.QueryParam("id"))
	title := cmp.Or(v.Title, v.ID)
	return p.show("item", "", title, title, v)
}

func (c *Console) itemView(ctx context.Context, p *page, id string) *itemView {
	it := must.Get(c.cfg.Index.Item(ctx, id))
	v := &itemView{Item: it, Title: p.Headline(it), Cluster: it.Event.Cluster}
	against := it.Event.Of
	if against == "" {
		// Released or withdrawn: the article it was judged against still explains it.
		for _, e := range it.InForce() {
			if against = e.Of; against != "" {
				break
			}
		}
	}
	cluster, err := c.cfg.Browse.Lead(ctx, v.Cluster)
	if !errors.Is(err, index.ErrNotFound) {
		must.Do(err)
		v.Cluster, v.Size = cluster.ID, cluster.Size
		v.Leads = cluster.Lead != nil && cluster.Lead.ID == it.ID
		v.Blocked = cluster.Lead != nil && !v.Leads && cluster.Lead.Verdict == index.Withdrawn
	}
	if against != "" && against != it.ID {
		if v.Lead, err = c.cfg.Index.Item(ctx, against); !errors.Is(err, index.ErrNotFound) {
			must.Do(err)
		}
	}
	if v.Lead != nil {
		v.Blocked = v.Blocked || v.Lead.Event.Verdict == index.Withdrawn
		if same := c.sameText(ctx, it, v.Lead); same != nil {
			v.Story, v.Lead = v.Lead, same
		}
		v.Compare = p.comparisonOf(v.Lead, it)
	} else if it.Body != nil {
		text, _, cut := readableText(ingest.Original(c.cfg.Segmenter, "", *it.Body).Text)
		if v.Cut = cut; text != "" {
			v.Text = strings.Split(text, "\n")
		}
	}
	v.Decisions = must.Get(c.cfg.Index.Decisions(ctx, index.DecisionQuery{Item: it.ID, Limit: 20}))
	v.Policy = c.cfg.Index.SourcePolicies()[it.Source].Stored()
	return v
}

// sameText is the earliest item with the same normal form, if it is a copy in the story of the lead and not the lead
// itself. The item's events then name it.
func (c *Console) sameText(ctx context.Context, it, lead *index.Item) *index.Item {
	e := eventAgainst(it, lead.ID)
	if e == nil || e.Rule != index.ByExact || it.Body == nil {
		return nil
	}
	for _, o := range c.cfg.Index.Same(ingest.Prepare(c.cfg.Segmenter, ingest.Stored(it)).Exact) { // the oldest first
		b := must.Get(c.cfg.Index.Briefs(ctx, []uint32{o}))[o]
		if b == nil || b.ID == it.ID {
			continue
		}
		if b.ID == lead.ID {
			return nil
		}
		for i := range it.History {
			if h := &it.History[i]; h.Rule == index.ByExact && h.Of == lead.ID {
				h.Of = b.ID
			}
		}
		it.Event = it.History[0]
		return must.Get(c.cfg.Index.Item(ctx, b.ID))
	}
	return nil
}

// Replies are what an editor may answer to the author of an item, in the language of the page and in the other one.
func (p *page) Replies(v *itemView) map[string]string {
	other := *p
	other.Language = map[bool]string{true: index.English, false: index.Chinese}[p.Language == index.Chinese]
	return map[string]string{p.Language: p.reply(v), other.Language: other.reply(v)}
}

// reply says no more than what is known: which text was published first, if both times are, and no address of a text
// that was taken down.
func (p *page) reply(v *itemView) string {
	quoted := func(it *index.Item) string {
		at, did := it.Arrived, p.T("收到", "received")
		if index.Credible(it.Published, it.Arrived) {
			at, did = *it.Published, p.T("发布", "published")
		}
		return fmt.Sprintf(p.T("《%s》（%s，%s %s）", "\"%s\" (%s, %s %s)"), p.Headline(it), p.SourceName(it.Source),
			at.In(location).Format("2006-01-02 15:04"), did)
	}
	state := map[index.Verdict]string{
		index.Duplicate: p.T("没有发布", "was not published"), index.Suspect: p.T("正在复核", "is being looked at"),
		index.Unique:    p.T("已经放行", "has been accepted"),
		index.Withdrawn: p.T("已经下线", "was taken down")}[v.Event.Verdict]
	why, which := p.T("它与更早的稿件相近", "it is like an earlier article"), p.T("更早的稿件", "The earlier article")
	switch v.Compare.Ahead {
	case 0:
		why, which = p.T("它与我们先收到的稿件相近，两稿发布的先后不明",
			"it is like an article that we received before; which was published first is not known"),
			p.T("先收到的稿件", "The article received before")
	case -1:
		why, which = p.T("我们先收到了相近的稿件；按发布时间，您的稿件在先",
			"we had received an article like it, though yours was published first"),
			p.T("先收到的稿件", "The article received before")
	}
	lines := []string{fmt.Sprintf(p.T("您好，您的稿件%s%s：%s。", "Your article %s %s: %s."), quoted(v.Item), state, why),
		fmt.Sprintf(p.T("%s：%s。", "%s: %s."), which, quoted(v.Lead)),
		fmt.Sprintf(p.T("您的稿件有 %s 见于该稿，该稿有 %s 见于您的稿件。",
			"%s of your article is in it, and %s of it is in your article."), p.WholePercent(v.Compare.SharedB),
			p.WholePercent(v.Compare.SharedA))}
	e := eventAgainst(v.Item, v.Lead.ID)
	if e != nil && e.Facts != nil && e.Facts.New != nil && len(e.Facts.New.Quotes) > 0 {
		lines = append(lines, fmt.Sprintf(p.T("该稿没有的内容约 %d 字，如“%s”。",
			"About %d characters are not in it, such as “%s”."),
			e.Facts.New.Characters, strings.Join(e.Facts.New.Quotes, p.T("、", ", "))))
	}
	if v.Lead.Event.Verdict == index.Withdrawn {
		lines = append(lines, p.T("该稿现已下线。", "It has been taken down."))
	} else if link := p.SafeLink(v.Lead.URL); link != "" && !v.Blocked {
		lines = append(lines, link)
	}
	if v.Event.Verdict == index.Duplicate {
		lines = append(lines, p.T("如果您是原作者，或已获授权，请回复说明。", "If you are its author, or have a licence, please tell us."))
	}
	return strings.Join(lines, "\n")
}
