package console

import (
	"bytes"
	"cmp"
	"context"
	"encoding/csv"
	"fmt"
	"html/template"
	"net/url"
	"strconv"
	"strings"
	"time"

	"jianguo/index"
	"jianguo/index/browse"
	"jianguo/internal/must"
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

func (c *Console) clusters(ctx context.Context, p *page) string {
	q := browse.StoryQuery{Sort: p.e.QueryParam("sort"), Source: p.e.QueryParam("source"), Cursor: p.e.QueryParam("cursor")}
	v := &clustersView{Sort: cmp.Or(q.Sort, "heat"), Filter: p.e.QueryParams(), Words: strings.TrimSpace(p.e.QueryParam("words"))}
	q.MinSize = int(p.number("size"))
	if s := p.e.QueryParam("rule"); s != "" {
		if err := q.Rule.UnmarshalText([]byte(s)); err != nil {
			must.Do(fmt.Errorf("rule %q: %w", s, index.ErrQuery))
		}
		v.Rule = q.Rule
	}
	if p.e.QueryParam("since") != "" {
		q.Since = c.cfg.Now().Add(-time.Duration(p.number("since")) * time.Hour)
	}
	if v.Words != "" {
		found := must.Get(c.find(ctx, v.Words, 800))
		v.Found = len(found)
		q.Clusters = c.cfg.Index.VersionClusters(found)
	}
	stories := must.Get(c.cfg.Browse.Stories(ctx, q))
	v.Stories, v.Next = stories.Stories, stories.Next
	v.Sources = must.Get(c.cfg.Browse.SourceNames(ctx, c.cfg.Now().AddDate(0, 0, -30), 60))
	p.Title, p.Section, p.Data = p.T("故事", "Stories"), "clusters", v
	return "clusters"
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

func (c *Console) storyOf(ctx context.Context, p *page, limit int) (v *browse.StoryView, after uint32) {
	after = uint32(p.number("after"))
	return must.Get(c.cfg.Browse.Story(ctx, uint32(p.number("id")), after, limit)), after
}

func (c *Console) cluster(ctx context.Context, p *page) string {
	story, after := c.storyOf(ctx, p, memberPage)
	p.notices(ctx)
	v := &clusterView{StoryView: story, After: after, Timeline: p.timeline(story, 960, 150, 11), Small: p.timeline(story, 360, 88, 6)}
	v.Blocked = story.Lead != nil && story.Lead.Verdict == index.Withdrawn
	v.Decisions = must.Get(c.cfg.Index.Decisions(ctx, index.DecisionQuery{Cluster: story.ID, Limit: 20}))
	p.knowDecisions(ctx, v.Decisions)
	p.Title, p.Section, p.Data = fmt.Sprintf("%s %d", p.T("故事", "Story"), story.ID), "clusters", v
	if story.Lead != nil {
		p.Title = story.Lead.Title
	}
	return "cluster"
}

// clusterCSV is all members of a story as CSV, with a byte order mark, from which
// spreadsheets learn that it is UTF-8.
func (c *Console) clusterCSV(ctx context.Context, p *page) string {
	story, _ := c.storyOf(ctx, p, 50_000)
	out := bytes.NewBufferString("\ufeff")
	w := csv.NewWriter(out)
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
	w.Flush()
	return p.download("text/csv", fmt.Sprintf("jianguo-%d.csv", story.ID), out.Bytes())
}

// cell prevents a spreadsheet from reading a title as a formula.
func cell(s string) string {
	if s != "" && strings.ContainsRune("=+-@\t\r", rune(s[0])) {
		return "'" + s
	}
	return s
}
