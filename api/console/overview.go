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
	Chart             *chart
	Stories           []browse.Story
	Suspects          []browse.SuspectRow
	Decisions         []index.Decision
	Precision         browse.Precision
	Silenced          []browse.Silenced
}

// chartHours is how many hours the chart goes back.
const chartHours = 48

func (c *Console) overview(ctx context.Context, p *page) string {
	v := &overviewView{Waiting: must.Get(c.cfg.Browse.Waiting(ctx))}
	hours := must.Get(c.cfg.Browse.Hours(ctx, c.cfg.Now().Add(-chartHours*time.Hour)))
	now := c.now()
	midnight := time.Date(now.Year(), now.Month(), now.Day(), 0, 0, 0, 0, location)
	for _, h := range hours {
		if !h.Hour.Before(midnight) {
			v.Items, v.Duplicates = v.Items+h.Items, v.Duplicates+h.Duplicates
		}
	}
	v.Chart = p.hourChart(hours)
	v.Stories = must.Get(c.cfg.Browse.Stories(ctx, browse.StoryQuery{Limit: 8})).Stories
	v.Suspects = must.Get(c.cfg.Browse.Suspects(ctx, browse.SuspectQuery{Limit: 6})).Rows
	v.Decisions = must.Get(c.cfg.Index.Decisions(ctx, index.DecisionQuery{Limit: 6}))
	v.Precision = must.Get(c.cfg.Browse.Precision(ctx))
	v.Silenced = must.Get(c.cfg.Browse.Silenced(ctx))
	return p.show("overview", "overview", "今日", "Overview", v)
}
