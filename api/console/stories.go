package console

import (
	"context"
	"encoding/csv"
	"fmt"
	"html/template"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/labstack/echo/v4"

	"jianguo/index"
	"jianguo/index/browse"
)

type clustersView struct {
	Stories []browse.Story
	Next    string
	Sort    string
	Filter  url.Values
	Rule    index.Rule
	Sources []string
	// Words is the search text, Found how many items have its words.
	Words string
	Found int
}

func (c *Console) clusters(ctx context.Context, p *page) (string, error) {
	q := browse.StoryQuery{Sort: p.e.QueryParam("sort"), Source: p.e.QueryParam("source"), Cursor: p.e.QueryParam("cursor")}
	v := &clustersView{Sort: q.Sort, Filter: p.e.QueryParams(), Words: strings.TrimSpace(p.e.QueryParam("words"))}
	if v.Sort == "" {
		v.Sort = "heat"
	}
	if s := p.e.QueryParam("size"); s != "" {
		n, err := strconv.Atoi(s)
		if err != nil || n < 0 {
			return "", fmt.Errorf("size %q: want a number: %w", s, index.ErrQuery)
		}
		q.MinSize = n
	}
	if s := p.e.QueryParam("rule"); s != "" {
		if err := q.Rule.UnmarshalText([]byte(s)); err != nil {
			return "", fmt.Errorf("rule %q: %w", s, index.ErrQuery)
		}
		v.Rule = q.Rule
	}
	if s := p.e.QueryParam("since"); s != "" {
		hours, err := strconv.Atoi(s)
		if err != nil || hours < 0 {
			return "", fmt.Errorf("since %q: want hours: %w", s, index.ErrQuery)
		}
		q.Since = c.cfg.Now().Add(-time.Duration(hours) * time.Hour)
	}
	if v.Words != "" {
		found, err := c.find(ctx, v.Words, 800)
		if err != nil {
			return "", err
		}
		v.Found = len(found)
		q.Clusters = c.cfg.Index.VersionClusters(found)
	}
	page, err := c.cfg.Browse.Stories(ctx, q)
	if err != nil {
		return "", err
	}
	v.Stories, v.Next = page.Stories, page.Next
	if v.Sources, err = c.cfg.Browse.SourceNames(ctx, c.cfg.Now().AddDate(0, 0, -30), 60); err != nil {
		return "", err
	}
	p.Title, p.Section, p.Data = p.T("故事", "Stories"), "clusters", v
	return "clusters", nil
}

type clusterView struct {
	*browse.StoryView
	Timeline  template.HTML
	Small     template.HTML // the same for a phone
	Decisions []index.Decision
	After     uint32
	Blocked   bool
}

const memberPage = 40

func (c *Console) storyOf(ctx context.Context, p *page, limit int) (*browse.StoryView, uint32, error) {
	id, err := strconv.ParseUint(p.e.QueryParam("id"), 10, 32)
	if err != nil {
		return nil, 0, fmt.Errorf("id %q: want a number: %w", p.e.QueryParam("id"), index.ErrQuery)
	}
	after, err := strconv.ParseUint("0"+p.e.QueryParam("after"), 10, 32)
	if err != nil {
		return nil, 0, fmt.Errorf("after %q: want a number: %w", p.e.QueryParam("after"), index.ErrQuery)
	}
	v, err := c.cfg.Browse.Story(ctx, uint32(id), uint32(after), limit)
	return v, uint32(after), err
}

func (c *Console) cluster(ctx context.Context, p *page) (string, error) {
	story, after, err := c.storyOf(ctx, p, memberPage)
	if err != nil {
		return "", err
	}
	p.notices(ctx)
	v := &clusterView{StoryView: story, After: after, Timeline: p.timeline(story, 960, 150, 11), Small: p.timeline(story, 360, 88, 6)}
	v.Blocked = story.Lead != nil && story.Lead.Verdict == index.Withdrawn
	if v.Decisions, err = c.cfg.Index.Decisions(ctx, index.DecisionQuery{Cluster: story.ID, Limit: 20}); err != nil {
		return "", err
	}
	p.knowDecisions(ctx, v.Decisions)
	p.Title, p.Section, p.Data = fmt.Sprintf("%s %d", p.T("故事", "Story"), story.ID), "clusters", v
	if story.Lead != nil {
		p.Title = story.Lead.Title
	}
	return "cluster", nil
}

// clusterCSV is all members of a story as CSV, with a byte order mark, from which
// spreadsheets learn that it is UTF-8.
func (c *Console) clusterCSV(ctx context.Context, p *page) error {
	story, _, err := c.storyOf(ctx, p, 50_000)
	if err != nil {
		return err
	}
	h := p.e.Response().Header()
	h.Set(echo.HeaderContentType, "text/csv; charset=utf-8")
	h.Set(echo.HeaderContentDisposition, fmt.Sprintf(`attachment; filename="jianguo-%d.csv"`, story.ID))
	h.Set(echo.HeaderCacheControl, "no-store")
	p.e.Response().WriteHeader(http.StatusOK)
	if _, err := p.e.Response().Write([]byte("\ufeff")); err != nil {
		return nil // the reader is gone
	}
	w := csv.NewWriter(p.e.Response())
	_ = w.Write([]string{"id", "title", "source", "url", "published_at", "arrived_at", "verdict", "rule", "resemblance", "distance"})
	for i := range story.Members {
		m := &story.Members[i]
		published, resemblance, distance := "", "", ""
		if m.Published != nil {
			published = p.ISO(m.Published)
		}
		if m.Resemblance != nil {
			resemblance = strconv.FormatFloat(float64(*m.Resemblance), 'f', 3, 32)
		}
		if m.Distance != nil {
			distance = strconv.Itoa(*m.Distance)
		}
		_ = w.Write([]string{cell(m.ID), cell(m.Title), cell(m.Source), cell(m.URL), published, p.ISO(m.Arrived), m.Verdict.String(), m.Rule.String(), resemblance, distance})
	}
	w.Flush() // an error of the writer is a reader that is gone
	return nil
}

// cell prevents a spreadsheet from reading a title as a formula.
func cell(s string) string {
	if s != "" && strings.ContainsRune("=+-@\t\r", rune(s[0])) {
		return "'" + s
	}
	return s
}
