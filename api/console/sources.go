package console

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"jianguo/index"
	"jianguo/index/browse"
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

func (c *Console) sources(ctx context.Context, p *page) (string, error) {
	p.notices(ctx)
	p.Title, p.Section = p.T("来源", "Sources"), "sources"
	v := &sourcesView{Days: 30}
	if s := p.e.QueryParam("days"); s != "" {
		n, err := strconv.Atoi(s)
		if err != nil || n < 1 || n > 3650 {
			return "", fmt.Errorf("days %q: want 1 to 3650: %w", s, index.ErrQuery)
		}
		v.Days = n
	}
	since := c.cfg.Now().AddDate(0, 0, -v.Days)
	var err error
	if v.Sources, err = c.cfg.Browse.Sources(ctx, since, 40); err != nil {
		return "", err
	}
	matrix, err := c.cfg.Browse.Matrix(ctx, since, 12)
	if err != nil {
		return "", err
	}
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
	if v.Log, err = c.cfg.Index.SourcePolicyLog(ctx, 10); err != nil {
		return "", err
	}
	p.Data = v
	return "sources", nil
}

func (c *Console) setPolicy(ctx context.Context, p *page) (string, error) {
	form := p.e.Request().PostForm
	err := c.cfg.Index.SetSourcePolicy(ctx, index.SourcePolicy{At: c.cfg.Now(), By: p.Name, Source: form.Get("source"), Policy: form.Get("policy"), Reason: limited(form.Get("reason"))})
	if err != nil {
		return "", err
	}
	return with(inside(form.Get("to")), "saved", "1"), nil
}
