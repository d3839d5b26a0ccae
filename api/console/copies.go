package console

import (
	"context"

	"jianguo/index/browse"
	"jianguo/internal/must"
)

// copies lists who copied what.
func (c *Console) copies(ctx context.Context, p *page) string {
	q := c.ours(p.Given("ours"))
	q.After, q.Limit = uint32(p.number("after")), 40
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
