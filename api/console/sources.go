package console

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"strings"
	"unicode/utf8"

	"jianguo/index"
	"jianguo/index/browse"
	"jianguo/ingest"
	"jianguo/internal/must"
)

type sourcesView struct {
	Days    int
	After   int // how many sources stand on the pages before
	Next    int // how many stand before the next page; 0: there is none
	Sources []browse.SourceCount
	Pairs   []browse.Copied // those that copy most
	Log     []index.SourcePolicy
}

func (c *Console) sources(ctx context.Context, p *page) string {
	v := &sourcesView{Days: 30, After: int(p.number("after"))}
	if days := int(p.number("days")); days > 0 {
		v.Days = min(days, 3650)
	}
	since := c.cfg.Now().AddDate(0, 0, -v.Days)
	v.Sources = must.Get(c.cfg.Browse.Sources(ctx, since, v.After, perPage+1))
	if len(v.Sources) > perPage {
		v.Sources, v.Next = v.Sources[:perPage], v.After+perPage
	}
	v.Pairs = must.Get(c.cfg.Browse.CopiedMost(ctx, since, "", 20))
	v.Log = must.Get(c.cfg.Index.SourcePolicyLog(ctx, 10))
	return p.show("sources", "sources", "来源", "Sources", v)
}

func (c *Console) setPolicy(ctx context.Context, p *page) string {
	form := p.e.Request().PostForm
	policy, strictness, _ := strings.Cut(form.Get("policy"), "/")
	must.Get(c.cfg.Ingest.Edit(ctx, index.Edit{Source: &index.SourcePolicy{At: c.cfg.Now(), By: p.Name,
		Source: form.Get("source"), Policy: policy,
		Strictness: cmp.Or(strictness, form.Get("strictness"), index.StrictnessOfService),
		Reason:     limitedReason(form.Get("reason"))}}))
	return returnTo(ownAddress(form.Get("to")), "said", "policy")
}

type sourceView struct {
	Name         string
	Policy       index.SourcePolicy
	Pairs        []browse.Copied      // sources it copied, and those that copied it, in 30 days
	Copies       *browse.CopyPage     // that it made, and that others made of its articles
	Rejected     bool                 // of Copies only those of its articles that are rejected
	Log          []index.SourcePolicy // what its policy was
	Passages     []index.Passage      // without weight in its texts: decided last, then of most articles
	More         int                  // where the next page of them begins; 0: there is none
	Short        []string             // those learned that say nothing by themselves
	Text, Reason string               // what was typed and is not put in yet
	Clauses      []string             // the passages that it would be, to be asked about; nil: nothing is asked
}

// perPage is how many sources, copies or passages a page lists.
const perPage = 25

// leastShown is the least number of characters of a learned passage that is listed: one word says nothing.
const leastShown = 4

func (c *Console) source(ctx context.Context, p *page) string {
	v := &sourceView{Name: p.e.QueryParam("name"), Rejected: p.Parameter("copies") == ""}
	if v.Name == "" {
		must.Do(index.ErrNotFound)
	}
	v.Policy = c.cfg.Index.SourcePolicies()[v.Name]
	v.Policy.Policy = cmp.Or(v.Policy.Policy, index.SourceNormal)
	v.Log = slices.DeleteFunc(must.Get(c.cfg.Index.SourcePolicyLog(ctx, 500)),
		func(of index.SourcePolicy) bool { return of.Source != v.Name })
	v.Log = v.Log[:min(len(v.Log), 5)]
	v.Pairs = must.Get(c.cfg.Browse.CopiedMost(ctx, c.cfg.Now().AddDate(0, 0, -30), v.Name, 12))
	v.Copies = must.Get(c.cfg.Browse.Copies(ctx, v.Name, v.Rejected, uint32(p.number("after")), perPage))
	for _, passage := range must.Get(c.cfg.Index.Boilerplate(ctx, v.Name)) {
		if passage.State == index.PassageLearned && utf8.RuneCountInString(passage.Text) < leastShown {
			v.Short = append(v.Short, passage.Text)
		} else {
			v.Passages = append(v.Passages, passage)
		}
	}
	slices.SortStableFunc(v.Passages, func(a, b index.Passage) int {
		return cmp.Or(timeOf(b.At).Compare(timeOf(a.At)), cmp.Compare(b.Articles, a.Articles))
	})
	v.Passages = v.Passages[min(int(p.number("from")), len(v.Passages)):]
	if len(v.Passages) > perPage {
		v.Passages, v.More = v.Passages[:perPage], int(p.number("from"))+perPage
	}
	return p.show("source", "sources", v.Name, v.Name, v)
}

// decideBoilerplate puts a passage of a source in, takes one out, or takes that back. It asks before one becomes
// several.
func (c *Console) decideBoilerplate(ctx context.Context, p *page) string {
	form := p.e.Request().PostForm
	passage := index.Passage{Text: form.Get("text"), State: form.Get("state"), By: p.Name,
		Reason: limitedReason(form.Get("reason"))}
	next := c.source(ctx, p)
	v := p.Data.(*sourceView)
	v.Text, v.Reason = passage.Text, passage.Reason
	v.Clauses = strings.Split(ingest.Normal(c.cfg.Segmenter, "", passage.Text).Body, "\n")
	if len(v.Clauses) == 1 || form.Has("sure") {
		_, err := c.cfg.Ingest.Edit(ctx, index.Edit{Passage: &index.SourcePassage{Source: v.Name, Passage: passage}})
		if !errors.Is(err, index.ErrQuery) {
			must.Do(err)
			return returnTo(ownAddress(form.Get("to")), "said", "passage")
		}
		v.Clauses = nil
		p.wrong("text", p.T("请填一句有文字的话，最多 1000 字。", "Want a passage with words, of at most 1,000 characters."))
	}
	return next
}
