package browse

import (
	"context"
	"database/sql"
	"fmt"
	"slices"
	"strings"
	"time"

	"jianguo/index"
	"jianguo/index/verdict"
)

// Story is a cluster of two or more members as lists show it.
type Story struct {
	ID             uint32
	Lead, Original *index.Brief // nil: none is left; Original is nil also if it is the lead
	Size, Sources  int
	Rules          []verdict.Rule
	First, Last    time.Time // of arrival
	Spark          []byte    // SparkSteps numbers, 0…255, over the times of publication
}

// StoryQuery selects stories.
type StoryQuery struct {
	Sort    string       // heat (default): most recent copies first; last, first: newest first; size
	Source  string       // only stories with a member of it
	Rule    verdict.Rule // only stories with a copy found by it
	MinSize int
	Since   time.Time // last copy not before
	Cursor  string    // from StoryPage.Next
	Limit   int       // 0: 30; at most 100
	// Clusters, if not nil, are the clusters to choose from: those a search found.
	Clusters []uint32
}

// StoryPage is one page of stories; Next is empty at the end.
type StoryPage struct {
	Stories []Story
	Next    string
}

type storyCursor struct {
	Value float64 `json:"v"`
	ID    uint32  `json:"i"`
}

// Stories lists stories. The page after a cursor continues where the page before
// ended, whatever has arrived since.
func (b *Model) Stories(ctx context.Context, q StoryQuery) (*StoryPage, error) {
	column := map[string]string{"": "heat", "heat": "heat", "last": "last_at", "first": "first_at", "size": "size"}[q.Sort]
	if column == "" {
		return nil, fmt.Errorf("sort %q: want heat, last, first or size: %w", q.Sort, verdict.ErrQuery)
	}
	limit := min(max(q.Limit, 0), 200)
	if limit == 0 {
		limit = 30
	}
	from, where, args, err := b.storiesFrom(ctx, &q, column)
	if err != nil {
		return nil, fmt.Errorf("browse: stories: %w", err)
	}
	if q.Cursor != "" {
		var c storyCursor
		if err := decodeCursor(q.Cursor, &c); err != nil {
			return nil, err
		}
		where, args = append(where, `(`+column+`, cluster) < (?, ?)`), append(args, c.Value, c.ID)
	}
	var leads, originals []uint32
	var values []float64
	stories, err := read(ctx, b.reader, "stories", `SELECT cluster, lead, original, size, sources, rules, first_at, last_at, spark, `+column+` FROM stories `+from+` WHERE `+
		strings.Join(where, ` AND `)+` ORDER BY `+column+` DESC, cluster DESC LIMIT ?`, func(r *sql.Rows, s *Story) error {
		var lead, original, rules uint32
		var first, last int64
		var value float64
		err := r.Scan(&s.ID, &lead, &original, &s.Size, &s.Sources, &rules, &first, &last, &s.Spark, &value)
		s.First, s.Last, s.Rules = time.UnixMilli(first).UTC(), time.UnixMilli(last).UTC(), ruleList(rules)
		leads, originals, values = append(leads, lead), append(originals, original), append(values, value)
		return err
	}, append(args, limit+1)...)
	if err != nil {
		return nil, err
	}
	page := &StoryPage{Stories: stories}
	if len(stories) > limit {
		page.Stories = stories[:limit]
		if page.Next, err = encodeCursor(storyCursor{values[limit-1], stories[limit-1].ID}); err != nil {
			return nil, err
		}
	}
	briefs, err := b.cat.Briefs(ctx, slices.Concat(leads, originals))
	if err != nil {
		return nil, err
	}
	for i := range page.Stories {
		page.Stories[i].Lead = briefs[leads[i]]
		if originals[i] != leads[i] {
			page.Stories[i].Original = briefs[originals[i]]
		}
	}
	return page, nil
}

// storiesFrom plans the query of stories: the index to read along, and the
// conditions. If a filter leaves few stories, these are read and sorted. If each
// filter leaves many, reading along the order itself soon finds enough of them.
// Either way few of all stories are read.
func (b *Model) storiesFrom(ctx context.Context, q *StoryQuery, column string) (from string, where []string, args []any, err error) {
	few := func(query string, args ...any) bool {
		n := 0
		if from == "" && err == nil {
			err = b.reader.QueryRowContext(ctx, `SELECT count(*) FROM (`+query+` LIMIT ?)`, append(args, b.few+1)...).Scan(&n)
		}
		return from == "" && err == nil && n <= b.few
	}
	ask := func(condition string, values ...any) { where, args = append(where, condition), append(args, values...) }
	if q.Clusters != nil {
		list, err := jsonList(q.Clusters)
		if err != nil {
			return "", nil, nil, err
		}
		from = `NOT INDEXED`
		ask(`cluster IN (SELECT value FROM json_each(?))`, list)
	}
	type facet struct {
		table, key string
		value      any
	}
	var facets []facet
	if q.Source != "" {
		number, err := b.sourceNumber(ctx, q.Source)
		if err != nil {
			return "", nil, nil, err
		}
		facets = append(facets, facet{"story_sources", "source", number})
	}
	if q.Rule != verdict.NoRule {
		facets = append(facets, facet{"story_rules", "rule", q.Rule})
	}
	for _, f := range facets {
		if few(`SELECT 1 FROM `+f.table+` WHERE `+f.key+` = ?`, f.value) {
			from = `NOT INDEXED`
			ask(`cluster IN (SELECT cluster FROM `+f.table+` WHERE `+f.key+` = ?)`, f.value)
		} else {
			ask(`EXISTS (SELECT 1 FROM `+f.table+` f WHERE f.`+f.key+` = ? AND f.cluster = stories.cluster)`, f.value)
		}
	}
	if ask(`size >= ?`, max(q.MinSize, 2)); q.MinSize > 2 && few(`SELECT 1 FROM stories INDEXED BY stories_by_size WHERE size >= ?`, q.MinSize) {
		from = `INDEXED BY stories_by_size`
	}
	if ask(`last_at >= ?`, q.Since.UnixMilli()); !q.Since.IsZero() && few(`SELECT 1 FROM stories INDEXED BY stories_by_last WHERE last_at >= ?`, q.Since.UnixMilli()) {
		from = `INDEXED BY stories_by_last`
	}
	if from == "" {
		from = `INDEXED BY stories_by_` + strings.TrimSuffix(column, "_at")
	}
	return from, where, args, err
}
