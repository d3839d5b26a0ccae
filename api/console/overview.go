package console

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"time"

	"github.com/labstack/echo/v4"

	"jianguo/index"
	"jianguo/index/browse"
	"jianguo/internal/must"
)

type overviewView struct {
	Counts    counts
	Chart     *chart
	Hours     int
	Stories   []browse.Story
	Suspects  []browse.SuspectRow
	Decisions []index.Decision
	Precision browse.Precision
}

// counts are the numbers that the page updates live.
type counts struct {
	Items      string `json:"items"`
	Duplicates string `json:"duplicates"`
	Share      string `json:"share"`
	Waiting    string `json:"waiting"`
	Stories    string `json:"stories"`
	Events     uint64 `json:"events"`
}

func (c *Console) counts(ctx context.Context, p *page) counts {
	t := must.Get(c.cfg.Browse.Totals(ctx))
	now := c.now()
	midnight := time.Date(now.Year(), now.Month(), now.Day(), 0, 0, 0, 0, location)
	var items, duplicates int64
	for _, h := range must.Get(c.cfg.Browse.Hours(ctx, midnight)) {
		items, duplicates = items+h.Items, duplicates+h.Duplicates
	}
	return counts{Items: p.Number(items), Duplicates: p.Number(duplicates), Share: p.Share(duplicates, items),
		Waiting: p.Number(t.Waiting), Stories: p.Number(t.Stories), Events: t.Events}
}

func (c *Console) overview(ctx context.Context, p *page) string {
	v := &overviewView{Hours: 48, Counts: c.counts(ctx, p)}
	if p.e.QueryParam("hours") == "336" {
		v.Hours = 336
	}
	hours := must.Get(c.cfg.Browse.Hours(ctx, c.cfg.Now().Add(-time.Duration(v.Hours)*time.Hour)))
	v.Chart = p.hourChart(hours, v.Hours)
	v.Stories = must.Get(c.cfg.Browse.Stories(ctx, browse.StoryQuery{Limit: 8})).Stories
	v.Suspects = must.Get(c.cfg.Browse.Suspects(ctx, browse.SuspectQuery{Limit: 6})).Rows
	v.Decisions = must.Get(c.cfg.Index.Decisions(ctx, index.DecisionQuery{Limit: 6}))
	v.Precision, _ = must.Get2(c.cfg.Browse.Precision(ctx))
	return p.show("overview", "overview", "今日", "Overview", v)
}

// liveFor bounds one stream of counters; the browser then opens the next.
const liveFor = 10 * time.Minute

// live sends the counters whenever they change.
func (c *Console) live(e echo.Context) error {
	s, ok := c.sessions.Of(e)
	if !ok {
		return e.NoContent(http.StatusUnauthorized)
	}
	p := c.newPage(e, s)
	w := e.Response()
	// The server's write deadline does not apply to a stream. A writer without
	// deadlines returns an error here, which is harmless.
	_ = http.NewResponseController(w).SetWriteDeadline(time.Time{})
	w.Header().Set(echo.HeaderContentType, "text/event-stream")
	w.Header().Set(echo.HeaderCacheControl, "no-store")
	w.Header().Set("X-Accel-Buffering", "no")
	w.WriteHeader(http.StatusOK)
	ctx := e.Request().Context()
	tick, end := time.NewTicker(2*time.Second), time.After(liveFor)
	defer tick.Stop()
	var last counts
	for sent := 0; ; sent++ {
		var now counts
		if err := must.Catch(func() { now = c.counts(ctx, p) }); err != nil {
			return nil // the stream has begun: its end says it all
		}
		if now != last || sent%7 == 0 { // proxies close idle streams
			b, err := json.Marshal(now)
			if err != nil {
				return err
			}
			if _, err := fmt.Fprintf(w, "retry: 3000\ndata: %s\n\n", b); err != nil {
				return nil
			}
			last = now
			w.Flush()
		}
		select {
		case <-ctx.Done():
			return nil
		case <-c.cfg.Done:
			return nil
		case <-end:
			return nil
		case <-tick.C:
		}
	}
}
