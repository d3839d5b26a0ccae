package console

import (
	"context"
	"encoding/json"
	"fmt"
	"html/template"
	"net/http"
	"time"

	"github.com/labstack/echo/v4"

	"jianguo/index"
	"jianguo/index/browse"
)

type overviewView struct {
	Counts    counts
	Chart     template.HTML
	Small     template.HTML // the same for a phone
	Hours     int
	Stories   []browse.Story
	Suspects  []browse.SuspectRow
	Of        map[uint32]*index.Brief
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

func (c *Console) counts(ctx context.Context, p *page) (counts, error) {
	t, err := c.cfg.Browse.Totals(ctx)
	if err != nil {
		return counts{}, err
	}
	now := c.now()
	midnight := time.Date(now.Year(), now.Month(), now.Day(), 0, 0, 0, 0, c.cfg.Location)
	hours, err := c.cfg.Browse.Hours(ctx, midnight)
	if err != nil {
		return counts{}, err
	}
	var items, duplicates int64
	for _, h := range hours {
		items, duplicates = items+h.Items, duplicates+h.Duplicates
	}
	return counts{Items: p.Number(items), Duplicates: p.Number(duplicates), Share: p.Share(duplicates, items),
		Waiting: p.Number(t.Waiting), Stories: p.Number(t.Stories), Events: t.Events}, nil
}

func (c *Console) overview(ctx context.Context, p *page) (string, error) {
	p.Title, p.Section = p.T("今日", "Overview"), "overview"
	v := &overviewView{Hours: 48}
	p.Data = v
	var err error
	if v.Counts, err = c.counts(ctx, p); err != nil {
		return "", err
	}
	if p.e.QueryParam("hours") == "336" {
		v.Hours = 336
	}
	hours, err := c.cfg.Browse.Hours(ctx, c.cfg.Now().Add(-time.Duration(v.Hours)*time.Hour))
	if err != nil {
		return "", err
	}
	v.Chart, v.Small = p.hourChart(hours, v.Hours, 960), p.hourChart(hours, v.Hours, 360)
	stories, err := c.cfg.Browse.Stories(ctx, browse.StoryQuery{Limit: 8})
	if err != nil {
		return "", err
	}
	v.Stories = stories.Stories
	suspects, err := c.cfg.Browse.Suspects(ctx, browse.SuspectQuery{Limit: 6})
	if err != nil {
		return "", err
	}
	v.Suspects = suspects.Rows
	if v.Decisions, err = c.cfg.Index.Decisions(ctx, index.DecisionQuery{Limit: 6}); err != nil {
		return "", err
	}
	p.knowDecisions(ctx, v.Decisions)
	v.Precision, _, err = c.cfg.Browse.Precision(ctx)
	return "overview", err
}

// liveFor bounds one stream of counters; the browser then opens the next.
const liveFor = 10 * time.Minute

// live sends the counters whenever they change.
func (c *Console) live(e echo.Context) error {
	s, ok := c.session(e)
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
	quiet := 0
	for {
		now, err := c.counts(ctx, p)
		if err != nil {
			return nil // the stream has begun: its end says it all
		}
		switch {
		case now != last:
			b, err := json.Marshal(now)
			if err != nil {
				return err
			}
			if _, err := fmt.Fprintf(w, "retry: 3000\ndata: %s\n\n", b); err != nil {
				return nil
			}
			last, quiet = now, 0
			w.Flush()
		case quiet == 7:
			// Proxies close idle streams.
			if _, err := fmt.Fprint(w, ": still here\n\n"); err != nil {
				return nil
			}
			quiet = 0
			w.Flush()
		default:
			quiet++
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

type decisionsView struct {
	Decisions []index.Decision
	Policies  []index.SourcePolicy
	Next      uint64
}

func (c *Console) decisions(ctx context.Context, p *page) (string, error) {
	p.notices(ctx)
	p.Title, p.Section = p.T("决定", "Decisions"), "decisions"
	var before uint64
	if s := p.e.QueryParam("before"); s != "" {
		if _, err := fmt.Sscan(s, &before); err != nil {
			return "", fmt.Errorf("before %q: want a number: %w", s, index.ErrQuery)
		}
	}
	const limit = 50
	list, err := c.cfg.Index.DecisionsBefore(ctx, before, limit+1)
	if err != nil {
		return "", err
	}
	p.knowDecisions(ctx, list)
	v := &decisionsView{Decisions: list}
	if len(list) > limit {
		v.Decisions, v.Next = list[:limit], list[limit-1].Number
	}
	if v.Policies, err = c.cfg.Index.SourcePolicyLog(ctx, 20); err != nil {
		return "", err
	}
	p.Data = v
	return "decisions", nil
}
