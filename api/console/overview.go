package console

import (
	"context"
	"time"

	"jianguo/index"
	"jianguo/index/browse"
	"jianguo/internal/must"
)

type overviewView struct {
	Items, Duplicates int64 // of today
	Waiting           int   // suspects
	Hours             []hour
	Most              int64       // items of an hour
	Ticks             []time.Time // below the hours, evenly spread
	Stories           []browse.ClusterBrief
	Suspects          []browse.SuspectRow
	Decisions         []index.Decision
	Precision         browse.Precision
	Silenced          []browse.Silenced
}

// hour is a bar of the chart, which begins at 0.
type hour struct {
	browse.HourCount
	At int
}

const chartHours = 48

func (c *Console) overview(ctx context.Context, p *page) string {
	v := &overviewView{Waiting: must.Get(c.cfg.Browse.Waiting(ctx)), Most: 4}
	now := c.now()
	midnight := time.Date(now.Year(), now.Month(), now.Day(), 0, 0, 0, 0, location)
	first := now.Truncate(time.Hour).Add(-(chartHours - 1) * time.Hour)
	for _, h := range must.Get(c.cfg.Browse.Hours(ctx, first, now)) {
		if !h.Hour.Before(midnight) {
			v.Items, v.Duplicates = v.Items+h.Items, v.Duplicates+h.Duplicates
		}
		v.Hours, v.Most = append(v.Hours, hour{h, int(h.Hour.Sub(first) / time.Hour)}), max(v.Most, h.Items)
	}
	for t := range 5 {
		v.Ticks = append(v.Ticks, first.Add(time.Duration(t)*chartHours/4*time.Hour))
	}
	v.Stories = must.Get(c.cfg.Browse.Clusters(ctx, browse.ClusterQuery{Limit: 8})).Clusters
	v.Suspects = must.Get(c.cfg.Browse.Suspects(ctx, browse.SuspectQuery{Limit: 6})).Rows
	v.Decisions = must.Get(c.cfg.Index.Decisions(ctx, index.DecisionQuery{Limit: 6}))
	v.Precision = must.Get(c.cfg.Browse.Precision(ctx))
	v.Silenced = must.Get(c.cfg.Browse.Silenced(ctx))
	return p.show("overview", "overview", "今日", "Overview", v)
}
