package console

import (
	"cmp"
	"context"
	"errors"
	"strings"

	"jianguo/index"
	"jianguo/index/browse"
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
	const perPage = 20
	v.Sources = must.Get(c.cfg.Browse.Sources(ctx, since, v.After, perPage+1))
	if len(v.Sources) > perPage {
		v.Sources, v.Next = v.Sources[:perPage], v.After+perPage
	}
	v.Pairs = must.Get(c.cfg.Browse.CopiedMost(ctx, since, 20))
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
	return returnTo(ownAddress(form.Get("to")), "saved", "1")
}

// sourceView is all about one source.
type sourceView struct {
	Name             string
	Policy           index.SourcePolicy
	Copies           *browse.CopyPage // that it made, and that others made of its articles
	Passages         []index.Passage  // that carry no weight in its texts
	In, Out, Learned string
	Text, Reason     string // what was typed and could not be put in
}

func (c *Console) source(ctx context.Context, p *page) string {
	v := &sourceView{Name: p.Given("name"), In: index.PassageIn, Out: index.PassageOut, Learned: index.PassageLearned}
	if v.Name == "" {
		must.Do(index.ErrNotFound)
	}
	v.Policy = must.Get(c.cfg.Index.SourcePolicies(ctx))[v.Name]
	v.Policy.Policy = cmp.Or(v.Policy.Policy, index.SourceNormal)
	v.Copies = must.Get(c.cfg.Browse.Copies(ctx, v.Name, uint32(p.number("after")), 30))
	v.Passages = must.Get(c.cfg.Index.Boilerplate(ctx, v.Name))
	return p.show("source", "sources", v.Name, v.Name, v)
}

// decideBoilerplate puts a passage of a source in, takes one out, or takes that back.
func (c *Console) decideBoilerplate(ctx context.Context, p *page) string {
	form := p.e.Request().PostForm
	passage := index.Passage{Text: form.Get("text"), State: form.Get("state"), By: p.Name,
		Reason: limitedReason(form.Get("reason"))}
	_, err := c.cfg.Ingest.Edit(ctx, index.Edit{Passage: &index.SourcePassage{Source: p.Given("name"),
		Passage: passage}})
	if errors.Is(err, index.ErrQuery) {
		page := c.source(ctx, p)
		v := p.Data.(*sourceView)
		v.Text, v.Reason = passage.Text, passage.Reason
		p.wrong("text", p.T("请填一句有文字的话，最多 1000 字。", "Want a passage with words, of at most 1,000 characters."))
		return page
	}
	must.Do(err)
	return returnTo(ownAddress(form.Get("to")), "saved", "1")
}
