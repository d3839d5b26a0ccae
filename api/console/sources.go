package console

import (
	"cmp"
	"context"
	"errors"
	"net/http"
	"strings"
	"time"

	"jianguo/index"
	"jianguo/index/browse"
	"jianguo/internal/must"
)

type sourcesView struct {
	Days    int
	After   int // how many sources stand on the pages before
	Next    int // how many stand before the next page; 0: there is none
	Sources []browse.SourceCount
	Delays  map[int64]*time.Duration
	Pairs   []browse.Copied // those that copy most
	Log     []index.SourcePolicy
	Strict  map[string]string // by source: the strictness of its own
}

func (c *Console) sources(ctx context.Context, p *page) string {
	v := &sourcesView{Days: 30}
	if days := int(p.number("days")); days > 0 {
		v.Days = min(days, 3650)
	}
	since := c.cfg.Now().AddDate(0, 0, -v.Days)
	const perPage = 20
	v.After = int(p.number("after"))
	v.Sources = must.Get(c.cfg.Browse.Sources(ctx, since, v.After, perPage+1))
	if len(v.Sources) > perPage {
		v.Sources, v.Next = v.Sources[:perPage], v.After+perPage
	}
	v.Delays = map[int64]*time.Duration{}
	for _, s := range v.Sources {
		v.Delays[s.Number] = must.Get(c.cfg.Browse.Delay(ctx, s.Number))
	}
	v.Pairs = must.Get(c.cfg.Browse.CopiedMost(ctx, since, 20))
	v.Strict = map[string]string{}
	for source, policy := range must.Get(c.cfg.Index.SourcePolicies(ctx)) {
		v.Strict[source] = policy.Strictness
	}
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

// copies lists who copied what.
func (c *Console) copies(ctx context.Context, p *page) string {
	q := browse.CopyQuery{After: uint32(p.number("after")), Limit: 40}
	if origin := p.Given("origin"); origin != "" {
		q.Origins = []string{origin}
	}
	if copier := p.Given("copier"); copier != "" {
		q.Copiers = []string{copier}
	}
	q.Since, q.Before = p.moment("from", hourForm), p.moment("to", hourForm)
	if days := int(p.number("days")); days > 0 {
		q.Since = c.cfg.Now().AddDate(0, 0, -days)
	}
	return p.show("copies", "sources", "转载", "Copies", must.Get(c.cfg.Browse.Copies(ctx, q)))
}

type boilerplateView struct {
	Source           string
	Passages         []index.Passage
	In, Out, Learned string
	Text, Reason     string // what was typed and could not be put in
}

// boilerplate lists the passages of a source that carry no weight.
func (c *Console) boilerplate(_ context.Context, p *page) string {
	v := &boilerplateView{Source: p.Given("source"), In: index.PassageIn, Out: index.PassageOut,
		Learned: index.PassageLearned}
	if v.Source == "" {
		must.Do(index.ErrNotFound)
	}
	v.Passages = c.cfg.Index.Boilerplate(v.Source)
	return p.show("boilerplate", "sources", v.Source+"的套话", v.Source+": boilerplate", v)
}

// decideBoilerplate puts a passage of a source in, takes one out, or takes that back.
func (c *Console) decideBoilerplate(ctx context.Context, p *page) string {
	form := p.e.Request().PostForm
	passage := index.Passage{Text: form.Get("text"), State: form.Get("state"), By: p.Name,
		Reason: limitedReason(form.Get("reason"))}
	_, err := c.cfg.Ingest.Edit(ctx, index.Edit{Passage: &index.SourcePassage{Source: p.Given("source"),
		Passage: passage}})
	if errors.Is(err, index.ErrQuery) {
		page := c.boilerplate(ctx, p)
		v := p.Data.(*boilerplateView)
		v.Text, v.Reason = passage.Text, passage.Reason
		p.wrong("text", p.T("请填一句有文字的话，最多 1000 字。", "Want a passage with words, of at most 1,000 characters."))
		must.Do(p.write(http.StatusBadRequest, page))
		return ""
	}
	must.Do(err)
	return returnTo(ownAddress(form.Get("to")), "saved", "1")
}
