package api

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"net/http"
	"strings"
	"time"

	"github.com/labstack/echo/v4"

	"jianguo/index"
	"jianguo/index/browse"
	"jianguo/ingest"
)

// Bounds of a page.
const (
	maxEvents   = 1000
	maxClusters = 200
	maxMembers  = 1000
	maxSearch   = 1024 // bytes
)

// ndjsonType is the content type of one JSON value a line.
const ndjsonType = "application/x-ndjson"

// lists serve what the catalogue holds.
type lists struct {
	cfg      *Config
	draining <-chan struct{}
}

// getVerdicts is the event log again, from the catalogue: a JSON array, or one
// event a line.
func (s lists) getVerdicts(c echo.Context) error {
	after, err := queryInt(c, "after", 0, 0, math.MaxInt64)
	if err != nil {
		return err
	}
	limit, err := queryInt(c, "limit", 100, 1, maxEvents)
	if err != nil {
		return err
	}
	wait, err := queryWait(c)
	if err != nil {
		return err
	}
	ctx := c.Request().Context()
	if err := s.awaitEvent(ctx, uint64(after), wait); err != nil {
		return err
	}
	events, err := s.cfg.Index.Events(ctx, uint64(after), int(limit))
	if err != nil {
		return err
	}
	if !strings.Contains(c.Request().Header.Get(echo.HeaderAccept), ndjsonType) {
		if events == nil {
			events = []index.Event{}
		}
		return c.JSON(http.StatusOK, events)
	}
	c.Response().Header().Set(echo.HeaderContentType, ndjsonType)
	c.Response().WriteHeader(http.StatusOK)
	lines := json.NewEncoder(c.Response())
	for i := range events {
		if err := lines.Encode(&events[i]); err != nil {
			return fmt.Errorf("api: event %d: %w", events[i].Number, err)
		}
	}
	return nil
}

// eventPoll is how often a long poll looks for a new event: often enough to
// feel at once, and a look is two loads under a read lock.
const eventPoll = 50 * time.Millisecond

// awaitEvent returns when there is an event after the given one, when the wait
// is over, or when the server is about to end.
func (s lists) awaitEvent(ctx context.Context, after uint64, wait time.Duration) error {
	over := time.NewTimer(wait)
	defer over.Stop()
	tick := time.NewTicker(eventPoll)
	defer tick.Stop()
	for {
		if _, last := s.cfg.Index.Applied(); last > after || wait == 0 {
			return nil
		}
		select {
		case <-tick.C:
		case <-over.C:
			return nil
		case <-s.draining:
			return nil
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// queryWait reads how long a long poll may take.
func queryWait(c echo.Context) (time.Duration, error) {
	given := c.QueryParam("wait")
	if given == "" {
		return 0, nil
	}
	d, err := time.ParseDuration(given)
	if err != nil || d < 0 || d > MaxWait {
		return 0, &ingest.FieldError{Field: "wait", Problem: fmt.Sprintf("is %.40q, want a time as in 5s, at most %v", given, MaxWait)}
	}
	return d, nil
}

// foundVersions is how many of the newest items with the words of a search
// their clusters are taken of.
const foundVersions = 800

// clusterPage is one page of clusters; Next is empty at the end.
type clusterPage struct {
	Clusters []index.Cluster `json:"clusters"`
	Next     string          `json:"next,omitempty"`
}

// getClusters lists clusters of two or more, without their members.
func (s lists) getClusters(c echo.Context) error {
	q, err := s.clusterQuery(c)
	if err != nil {
		return err
	}
	stories, err := s.cfg.Browse.Stories(c.Request().Context(), q)
	if err != nil {
		return cursorProblem(err, q.Cursor)
	}
	page := clusterPage{Clusters: make([]index.Cluster, len(stories.Stories)), Next: stories.Next}
	for i := range stories.Stories {
		page.Clusters[i] = clusterOf(&stories.Stories[i])
	}
	return c.JSON(http.StatusOK, page)
}

// clusterQuery reads what to list.
func (s lists) clusterQuery(c echo.Context) (q browse.StoryQuery, err error) {
	q = browse.StoryQuery{Sort: c.QueryParam("sort"), Source: c.QueryParam("source"), Cursor: c.QueryParam("cursor")}
	switch q.Sort {
	case "":
		q.Sort = "last"
	case "last", "heat", "size", "first":
	default:
		return q, &ingest.FieldError{Field: "sort", Problem: fmt.Sprintf("is %.40q, want last, heat, size or first", q.Sort)}
	}
	size, err := queryInt(c, "size", 2, 2, math.MaxInt32)
	if err != nil {
		return q, err
	}
	limit, err := queryInt(c, "limit", 50, 1, maxClusters)
	if err != nil {
		return q, err
	}
	q.MinSize, q.Limit = int(size), int(limit)
	if since := c.QueryParam("since"); since != "" {
		if q.Since, err = time.Parse(time.RFC3339Nano, since); err != nil {
			return q, &ingest.FieldError{Field: "since", Problem: fmt.Sprintf("is %.40q, want RFC 3339 as in 2026-01-02T15:04:05Z", since)}
		}
	}
	if words := strings.TrimSpace(c.QueryParam("search")); words != "" {
		q.Clusters, err = s.search(c.Request().Context(), words)
	}
	return q, err
}

// search finds the clusters of the newest items that have some words.
func (s lists) search(ctx context.Context, words string) ([]uint32, error) {
	if len(words) > maxSearch {
		return nil, &ingest.FieldError{Field: "search", Problem: fmt.Sprintf("has %d bytes, at most %d are taken", len(words), maxSearch)}
	}
	found, err := s.cfg.Find(ctx, words, foundVersions)
	if err != nil {
		return nil, err
	}
	return s.cfg.Index.VersionClusters(found), nil
}

// cursorProblem makes of a refused query one of its cursor: the rest of it has
// been checked before.
func cursorProblem(err error, cursor string) error {
	if errors.Is(err, index.ErrQuery) {
		return &ingest.FieldError{Field: "cursor", Problem: fmt.Sprintf("is %.40q, which no page has given as its next", cursor)}
	}
	return err
}

// clusterOf is a story as the wire has it.
func clusterOf(st *browse.Story) index.Cluster {
	return index.Cluster{ID: st.ID, Lead: memberOf(st.Lead), Original: memberOf(st.Original), Size: int64(st.Size), Sources: st.Sources, First: st.First, Last: st.Last}
}

// memberOf is a version as the wire has it.
func memberOf(b *index.Brief) *index.Member {
	if b == nil {
		return nil
	}
	return &index.Member{Ordinal: b.Ordinal, ID: b.ID, Title: b.Title, Source: b.Source, Published: b.Published, Arrived: b.Arrived,
		Verdict: b.Verdict, Rule: b.Rule, Distance: b.Distance, Resemblance: b.Resemblance, Event: b.Event}
}

// getCluster is a cluster with a page of its members.
func (s lists) getCluster(c echo.Context) error {
	id, err := clusterID(c.Param("id"))
	if err != nil {
		return err
	}
	limit, err := queryInt(c, "limit", maxClusters, 1, maxMembers)
	if err != nil {
		return err
	}
	after, err := queryInt(c, "cursor", 0, 0, math.MaxUint32)
	if err != nil {
		return err
	}
	view, err := s.cfg.Browse.Story(c.Request().Context(), id, uint32(after), int(limit))
	if errors.Is(err, index.ErrNotFound) {
		return caused(http.StatusNotFound, fmt.Sprintf("no cluster has the number %d", id), err)
	}
	if err != nil {
		return err
	}
	page := struct {
		index.Cluster
		Next string `json:"next,omitempty"`
	}{Cluster: clusterOf(&view.Story)}
	for i := range view.Members {
		page.Members = append(page.Members, *memberOf(&view.Members[i]))
	}
	if view.Next != 0 {
		page.Next = fmt.Sprint(view.Next)
	}
	return c.JSON(http.StatusOK, page)
}

// suspect is an item that waits for a decision.
type suspect struct {
	ID          string       `json:"id"`
	Title       string       `json:"title"`
	Source      string       `json:"source,omitempty"`
	URL         string       `json:"url,omitempty"`
	Published   *time.Time   `json:"published_at,omitempty"`
	Arrived     time.Time    `json:"arrived_at"`
	Cluster     uint32       `json:"cluster"`
	Series      uint32       `json:"series,omitempty"`
	Of          string       `json:"of,omitempty"`
	Rule        index.Rule   `json:"rule,omitempty"`
	Distance    *int         `json:"distance,omitempty"`
	Margin      *float32     `json:"margin,omitempty"`
	Resemblance *float32     `json:"resemblance,omitempty"`
	Facts       *index.Facts `json:"facts,omitempty"`
	Event       uint64       `json:"event"`
}

// suspectRow is one suspect, or a series of them.
type suspectRow struct {
	Likely  float64   `json:"likely"`
	Watched bool      `json:"watched,omitempty"`
	Waiting int       `json:"waiting"`
	Family  uint32    `json:"family,omitempty"`
	Items   []suspect `json:"items"`
}

// getSuspects lists what waits for a decision.
func (s lists) getSuspects(c echo.Context) error {
	limit, err := queryInt(c, "limit", 40, 1, maxClusters)
	if err != nil {
		return err
	}
	ctx := c.Request().Context()
	sort := c.QueryParam("sort")
	if sort != "" && sort != "new" && sort != "likely" {
		return &ingest.FieldError{Field: "sort", Problem: fmt.Sprintf("is %.40q, want likely or new", sort)}
	}
	q := browse.SuspectQuery{Source: c.QueryParam("source"), New: sort == "new", Cursor: c.QueryParam("cursor"), Limit: int(limit)}
	queue, err := s.cfg.Browse.Suspects(ctx, q)
	if err != nil {
		return cursorProblem(err, q.Cursor)
	}
	var ofs []uint32
	for _, row := range queue.Rows {
		for i := range row.Items {
			ofs = append(ofs, row.Items[i].Of)
		}
	}
	of, err := s.cfg.Index.Briefs(ctx, ofs)
	if err != nil {
		return err
	}
	page := struct {
		Suspects []suspectRow `json:"suspects"`
		Next     string       `json:"next,omitempty"`
	}{Suspects: []suspectRow{}, Next: queue.Next}
	for _, row := range queue.Rows {
		r := suspectRow{Likely: row.Error, Watched: row.Watched, Waiting: row.Waiting, Family: s.cfg.Index.ClusterOf(row.Family)}
		for _, b := range row.Items {
			it := suspect{ID: b.ID, Title: b.Title, Source: b.Source, URL: b.URL, Published: b.Published, Arrived: b.Arrived, Cluster: b.Cluster,
				Series: b.Series, Rule: b.Rule, Distance: b.Distance, Margin: b.Margin, Resemblance: b.Resemblance, Facts: b.Facts, Event: b.Event}
			if other := of[b.Of]; other != nil {
				it.Of = other.ID
			}
			r.Items = append(r.Items, it)
		}
		page.Suspects = append(page.Suspects, r)
	}
	return c.JSON(http.StatusOK, page)
}
