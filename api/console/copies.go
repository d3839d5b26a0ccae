package console

import (
	"context"

	"jianguo/index/browse"
	"jianguo/internal/must"
)

// hourForm is how addresses give an hour.
const hourForm = "2006-01-02T15"

type copiesView struct {
	*browse.CopyPage
	Origin, Copier, Ours string
	From, To             string
	Days                 int
}

// copies lists who copied what.
func (c *Console) copies(ctx context.Context, p *page) string {
	v := &copiesView{Origin: p.given("origin"), Copier: p.given("copier"), Ours: p.given("ours"), From: p.given("from"), To: p.given("to"), Days: int(p.number("days"))}
	p.Title, p.Section, p.Data = p.T("转载", "Copies"), "sources", v
	q := c.ours(v.Ours)
	q.After, q.Limit = uint32(p.number("after")), 40
	if v.Origin != "" {
		q.Origins = []string{v.Origin}
	}
	if v.Copier != "" {
		q.Copiers = []string{v.Copier}
	}
	if q.Since, q.Before = p.moment("from", hourForm), p.moment("to", hourForm); v.Days > 0 {
		q.Since = c.cfg.Now().AddDate(0, 0, -v.Days)
	}
	v.CopyPage = must.Get(c.cfg.Browse.Copies(ctx, q))
	return "copies"
}

// ours asks for the copies of our own sources (copied), or for what they copied (copying).
func (c *Console) ours(which string) (q browse.CopyQuery) {
	switch which {
	case "copied":
		q.Origins = c.cfg.Own
	case "copying":
		q.Copiers = c.cfg.Own
	}
	return q
}
