package console

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"jianguo/index"
	"jianguo/index/browse"
	"jianguo/internal/must"
)

type sourcesView struct {
	Days    int
	Sources []browse.SourceCount
	Names   []string
	Cells   [][]matrixCell // by original source, then by copying source
	Most    int64
	Top     []browse.Copied // the pairs that copy most
	Log     []index.SourcePolicy
}

// matrixCell is one square; Step is its colour, 0 (none) to 5 (most).
type matrixCell struct {
	Origin, Copier string
	N              int64
	Step           int
	Self           bool
}

func (c *Console) sources(ctx context.Context, p *page) string {
	p.notices(ctx)
	p.Title, p.Section = p.T("来源", "Sources"), "sources"
	v := &sourcesView{Days: 30}
	if p.e.QueryParam("days") != "" {
		if v.Days = int(p.number("days")); v.Days < 1 || v.Days > 3650 {
			must.Do(fmt.Errorf("days %d: want 1 to 3650: %w", v.Days, index.ErrQuery))
		}
	}
	since := c.cfg.Now().AddDate(0, 0, -v.Days)
	v.Sources = must.Get(c.cfg.Browse.Sources(ctx, since, 40))
	matrix := must.Get(c.cfg.Browse.Matrix(ctx, since, 12))
	v.Names = matrix.Names
	at := map[string]int{}
	for i, n := range matrix.Names {
		at[n] = i
		row := make([]matrixCell, len(matrix.Names))
		for j := range row {
			row[j] = matrixCell{Origin: n, Copier: matrix.Names[j], Self: i == j}
		}
		v.Cells = append(v.Cells, row)
	}
	for _, pair := range matrix.Pairs {
		v.Cells[at[pair.Origin]][at[pair.Copier]].N = pair.N
		if pair.Origin != pair.Copier {
			v.Most = max(v.Most, pair.N)
		}
	}
	v.Top = slices.DeleteFunc(slices.Clone(matrix.Pairs), func(c browse.Copied) bool { return c.Origin == c.Copier })
	slices.SortFunc(v.Top, func(a, b browse.Copied) int {
		return cmp.Or(cmp.Compare(b.N, a.N), strings.Compare(a.Copier, b.Copier), strings.Compare(a.Origin, b.Origin))
	})
	v.Top = v.Top[:min(len(v.Top), 10)]
	for i := range v.Cells {
		for j := range v.Cells[i] {
			if m := &v.Cells[i][j]; m.N > 0 && v.Most > 0 {
				m.Step = int(min(5, 1+4*m.N/v.Most))
			}
		}
	}
	v.Log = must.Get(c.cfg.Index.SourcePolicyLog(ctx, 10))
	p.Data = v
	return "sources"
}

func (c *Console) setPolicy(ctx context.Context, p *page) string {
	form := p.e.Request().PostForm
	must.Do(c.cfg.Index.SetSourcePolicy(ctx, index.SourcePolicy{At: c.cfg.Now(), By: p.Name, Source: form.Get("source"), Policy: form.Get("policy"), Strictness: form.Get("strictness"), Reason: limited(form.Get("reason"))}))
	return with(inside(form.Get("to")), "saved", "1")
}
