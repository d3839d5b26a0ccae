package console

import (
	"context"
	"errors"
	"net/http"

	"jianguo/index"
	"jianguo/index/boilerplate"
	"jianguo/internal/must"
)

type boilerplateView struct {
	Source           string
	Passages         []boilerplate.Passage
	In, Out, Learned string
	Text, Reason     string // what was typed and could not be put in
}

// boilerplate lists the passages of a source that carry no weight.
func (c *Console) boilerplate(_ context.Context, p *page) string {
	v := &boilerplateView{Source: p.Given("source"), In: boilerplate.In, Out: boilerplate.Out, Learned: boilerplate.Learned}
	if v.Source == "" {
		must.Do(index.ErrNotFound)
	}
	v.Passages = c.cfg.Index.Boilerplate(v.Source)
	return p.show("boilerplate", "sources", v.Source+"的套话", v.Source+": boilerplate", v)
}

// decideBoilerplate puts a passage of a source in, takes one out, or takes that back.
func (c *Console) decideBoilerplate(ctx context.Context, p *page) string {
	form := p.e.Request().PostForm
	passage := boilerplate.Passage{Text: form.Get("text"), State: form.Get("state"), By: p.Name, Reason: limited(form.Get("reason"))}
	err := c.cfg.Ingest.DecideBoilerplate(ctx, p.Given("source"), passage)
	if errors.Is(err, index.ErrQuery) {
		page := c.boilerplate(ctx, p)
		v := p.Data.(*boilerplateView)
		v.Text, v.Reason = passage.Text, passage.Reason
		p.wrong("text", p.T("请填一句有文字的话，最多 1000 字。", "Want a passage with words, of at most 1,000 characters."))
		must.Do(p.write(http.StatusBadRequest, page))
		return ""
	}
	must.Do(err)
	return with(inside(form.Get("to")), "saved", "1")
}
