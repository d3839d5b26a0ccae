package browse

import (
	"cmp"
	"context"
	"fmt"
	"strings"
	"time"

	"jianguo/index"
	"jianguo/index/verdict"
	"jianguo/internal/must"
	"jianguo/internal/sqlite"
)

// ClusterBrief is a cluster of two or more members as lists show it.
type ClusterBrief struct {
	ID             uint32
	Lead, Original *index.Brief // nil: none is left; Original is nil also if it is the lead
	Size, Sources  int
	First, Last    time.Time // of arrival; zero: no item is left
}

// ClusterQuery selects clusters.
type ClusterQuery struct {
	Sort    string // heat (default): most recent copies first; last, first: newest first; size
	Source  string // only clusters with a member of it
	MinSize int
	Since   time.Time // last copy not before
	Cursor  string    // from ClusterPage.Next
	Limit   int       // 0: 30; at most 200
	// Clusters, if not nil, are the clusters to choose from: those a search found.
	Clusters []uint32
}

// ClusterPage is one page of clusters; Next is empty at the end.
type ClusterPage struct {
	Clusters []ClusterBrief
	Next     string
}

type clusterCursor struct {
	Value float64 `json:"v"`
	ID    uint32  `json:"i"`
}

// Clusters lists clusters. The page after a cursor continues where the page before
// ended, whatever has arrived since.
func (b *Model) Clusters(ctx context.Context, q ClusterQuery) (*ClusterPage, error) {
	return must.Try(func() *ClusterPage { return b.listClusters(ctx, &q) })
}

func (b *Model) listClusters(ctx context.Context, q *ClusterQuery) *ClusterPage {
	columns := map[string]string{"": "heat", "heat": "heat", "last": "last_at", "first": "first_at", "size": "size"}
	column := columns[q.Sort]
	if column == "" {
		must.Do(fmt.Errorf("sort %q: want heat, last, first or size: %w", q.Sort, verdict.ErrQuery))
	}
	limit := cmp.Or(min(max(q.Limit, 0), 200), 30)
	from, where := b.clustersFrom(ctx, q, column)
	if q.Cursor != "" {
		var c clusterCursor
		decodeCursor(q.Cursor, column, &c)
		where.and(`(`+column+`, cluster) < (?, ?)`, c.Value, c.ID)
	}
	type row struct {
		ClusterBrief
		lead, original uint32
		value          float64
	}
	query := `SELECT cluster, lead, original, size, sources, first_at, last_at, ` + column +
		` FROM stories ` + from + ` WHERE ` + where.text + ` ORDER BY ` + column + ` DESC, cluster DESC LIMIT ?`
	rows := must.Get(sqlite.All(ctx, b.reader, func(r *row) []any {
		return []any{&r.ID, &r.lead, &r.original, &r.Size, &r.Sources, (*sqlite.Millis)(&r.First),
			(*sqlite.Millis)(&r.Last), &r.value}
	}, query, append(where.args, limit+1)...))
	page := new(ClusterPage)
	if len(rows) > limit {
		rows = rows[:limit]
		page.Next = encodeCursor(column, clusterCursor{rows[limit-1].value, rows[limit-1].ID})
	}
	var ordinals []uint32
	for _, r := range rows {
		ordinals = append(ordinals, r.lead, r.original)
	}
	briefs := must.Get(b.cat.Briefs(ctx, ordinals))
	for _, r := range rows {
		if r.Lead = briefs[r.lead]; r.original != r.lead {
			r.Original = briefs[r.original]
		}
		page.Clusters = append(page.Clusters, r.ClusterBrief)
	}
	return page
}

// clustersFrom plans the query of clusters: the index to read along, and the
// conditions. If a filter leaves few clusters, these are read and sorted. If each
// filter leaves many, reading along the order itself soon finds enough of them.
// Either way few of all clusters are read.
func (b *Model) clustersFrom(ctx context.Context, q *ClusterQuery, column string) (from string, where conditions) {
	few := func(query string, args ...any) bool {
		query = `SELECT count(*) FROM (` + query + ` LIMIT ?)`
		return from == "" && count(ctx, b.reader, "stories", query, append(args, b.few+1)...) <= b.few
	}
	if q.Clusters != nil {
		from = `NOT INDEXED`
		where.and(`cluster IN (SELECT value FROM json_each(?))`, sqlite.List(q.Clusters))
	}
	if q.Source != "" {
		source := b.sourceNumber(ctx, q.Source)
		if few(`SELECT 1 FROM story_sources WHERE source = ?`, source) {
			from = `NOT INDEXED`
			where.and(`cluster IN (SELECT cluster FROM story_sources WHERE source = ?)`, source)
		} else {
			where.and(`EXISTS (SELECT 1 FROM story_sources f
				WHERE f.source = ? AND f.cluster = stories.cluster)`, source)
		}
	}
	bound := func(column, along string, least any, given bool) {
		where.and(column+` >= ?`, least)
		if given && few(`SELECT 1 FROM stories `+along+` WHERE `+column+` >= ?`, least) {
			from = along
		}
	}
	bound(`size`, `INDEXED BY stories_by_size`, max(q.MinSize, 2), q.MinSize > 2)
	bound(`last_at`, `INDEXED BY stories_by_last`, q.Since.UnixMilli(), !q.Since.IsZero())
	return cmp.Or(from, `INDEXED BY stories_by_`+strings.TrimSuffix(column, "_at")), where
}
