package api

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/labstack/echo/v4"

	"jianguo/api/console"
	"jianguo/index"
	"jianguo/index/browse"
	"jianguo/internal/must"
)

// Bounds of a page.
const (
	maxEvents   = 1000
	maxClusters = 200
	maxMembers  = 1000
	maxSearch   = 1024 // bytes
)

// getVerdicts is the event log again, from the catalogue.
func (s *Server) getVerdicts(c echo.Context) any {
	after, limit := queryInt[uint64](c, "after", 0, 0, math.MaxInt64), queryInt(c, "limit", 100, 1, maxEvents)
	ctx, wait := c.Request().Context(), queryWait(c)
	if s.isAhead(after) {
		must.Do(s.awaitEvent(ctx, after-1, catchUp))
	}
	if _, last := s.cfg.Index.Applied(); last < after {
		must.Do(NewProblem(http.StatusConflict, "after", fmt.Sprintf("after is %d, and the last event has the number "+
			"%d: if a backup was restored, go on from that one", after, last)))
	}
	must.Do(s.awaitEvent(ctx, after, wait))
	return append([]index.Event{}, must.Get(s.cfg.Index.Events(ctx, after, limit))...)
}

// catchUp is how long a subscriber may be ahead of this service, which may be behind another one on its bus.
const catchUp = time.Second

// isAhead reports whether a subscriber knows of more events than the catalogue.
func (s *Server) isAhead(after uint64) bool {
	_, last := s.cfg.Index.Applied()
	return after > last
}

// eventPoll is how often a long poll looks for a new event, which is cheap.
const eventPoll = 50 * time.Millisecond

// awaitEvent returns when there is an event after the given one, the wait is over, or the server is about to end.
func (s *Server) awaitEvent(ctx context.Context, after uint64, wait time.Duration) error {
	for over := time.Now().Add(wait); ; {
		remaining := time.Until(over)
		if _, last := s.cfg.Index.Applied(); last > after || remaining <= 0 {
			return nil
		}
		select {
		case <-time.After(min(remaining, eventPoll)):
		case <-s.ending.Done():
			return nil
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// queryWait reads how long a long poll may take.
func queryWait(c echo.Context) time.Duration {
	given := cmp.Or(c.QueryParam("wait"), "0")
	d, err := time.ParseDuration(given)
	if err != nil || d < 0 || d > MaxWait {
		refuse("wait", "is %.40q, want a time as in 5s, at most %v", given, MaxWait)
	}
	return d
}

// foundVersions bounds the versions with the words of a search whose clusters are listed: the newest.
const foundVersions = 800

// clusterPage is one page of clusters; Next is empty at the end.
type clusterPage struct {
	Clusters []cluster `json:"clusters"`
	Next     string    `json:"next,omitempty"`
}

// getClusters lists clusters of two or more, without their members.
func (s *Server) getClusters(c echo.Context) any {
	ctx, q := c.Request().Context(), clusterQuery(c)
	if words := strings.TrimSpace(c.QueryParam("search")); words != "" {
		if len(words) > maxSearch {
			refuse("search", "has %d bytes, at most %d are taken", len(words), maxSearch)
		}
		found := must.Get(console.Find(ctx, s.cfg.Browse, s.cfg.Segmenter, words, foundVersions))
		q.Clusters = s.cfg.Index.VersionClusters(found)
	}
	list, err := s.cfg.Browse.Clusters(ctx, q)
	refuseCursor(err, q.Cursor)
	page := clusterPage{Clusters: make([]cluster, len(list.Clusters)), Next: list.Next}
	for i := range list.Clusters {
		page.Clusters[i] = clusterOf(&list.Clusters[i])
	}
	return page
}

func clusterQuery(c echo.Context) browse.ClusterQuery {
	q := browse.ClusterQuery{Sort: c.QueryParam("sort"), Source: c.QueryParam("source"), Cursor: c.QueryParam("cursor"),
		MinSize: queryInt(c, "size", 2, 2, math.MaxInt32), Limit: queryInt(c, "limit", 50, 1, maxClusters)}
	switch q.Sort {
	case "":
		q.Sort = "last"
	case "last", "heat", "size", "first":
	default:
		refuse("sort", "is %.40q, want last, heat, size or first", q.Sort)
	}
	if since := c.QueryParam("since"); since != "" {
		var err error
		if q.Since, err = time.Parse(time.RFC3339Nano, since); err != nil {
			refuse("since", "is %.40q, want RFC 3339 as in 2026-01-02T15:04:05Z", since)
		}
	}
	return q
}

// refuseCursor ends a request at an error. A refused query has a wrong cursor: all else has been checked.
func refuseCursor(err error, cursor string) {
	if errors.Is(err, index.ErrQuery) {
		refuse("cursor", "is %.40q, which no page has given as its next", cursor)
	}
	must.Do(err)
}

func (s *Server) getCluster(c echo.Context) any {
	id, limit, after := clusterID(c), queryInt(c, "limit", maxClusters, 1, maxMembers),
		queryInt[uint32](c, "cursor", 0, 0, math.MaxUint32)
	view, err := s.cfg.Browse.Cluster(c.Request().Context(), id, after, limit)
	must.Do(noCluster(err, id))
	page := clusterOf(&view.ClusterBrief)
	for i := range view.Members {
		page.Members = append(page.Members, memberOf(&view.Members[i]))
	}
	if view.Next != 0 {
		page.Next = fmt.Sprint(view.Next)
	}
	return page
}

// getStory is a story: its tellings in order, and what each adds to an earlier one.
func (s *Server) getStory(c echo.Context) any {
	id := clusterID(c)
	chain, err := browse.ReadStory(c.Request().Context(), s.cfg.Browse, id, 1)
	must.Do(noCluster(err, id))
	story := struct {
		ID       uint32    `json:"story"`
		Tellings []cluster `json:"tellings"`
		More     int       `json:"more,omitempty"`
	}{ID: chain.Number, More: chain.More}
	for i := range chain.Tellings {
		t := &chain.Tellings[i]
		out := clusterOf(&t.ClusterBrief)
		if out.Follows, out.Adds = t.Follows, t.Adds; t.Told != nil {
			out.Facts = t.Told.Facts
		}
		if t.Against != nil {
			out.Of = t.Against.ID
		}
		story.Tellings = append(story.Tellings, out)
	}
	return story
}

// noCluster says which cluster was not found.
func noCluster(err error, id uint32) error {
	if errors.Is(err, index.ErrNotFound) {
		return NewProblem(http.StatusNotFound, "", fmt.Sprintf("no cluster has the number %d", id))
	}
	return err
}

func (s *Server) getSuspects(c echo.Context) any {
	ctx, sort := c.Request().Context(), c.QueryParam("sort")
	q := browse.SuspectQuery{Source: c.QueryParam("source"), New: sort == "new", Cursor: c.QueryParam("cursor"),
		Limit: queryInt(c, "limit", 40, 1, maxClusters)}
	if sort != "" && sort != "new" && sort != "likely" {
		refuse("sort", "is %.40q, want likely or new", sort)
	}
	queue, err := s.cfg.Browse.Suspects(ctx, q)
	refuseCursor(err, q.Cursor)
	var ofs []uint32
	for _, row := range queue.Rows {
		for i := range row.Items {
			ofs = append(ofs, row.Items[i].Of)
		}
	}
	of := must.Get(s.cfg.Index.Briefs(ctx, ofs))
	page := struct {
		Suspects []suspectRow `json:"suspects"`
		Next     string       `json:"next,omitempty"`
	}{Suspects: []suspectRow{}, Next: queue.Next}
	for _, row := range queue.Rows {
		r := suspectRow{Likely: row.Error, Watched: row.Watched, Waiting: row.Waiting,
			Family: s.cfg.Index.ClusterOf(row.Family)}
		for i := range row.Items {
			r.Items = append(r.Items, suspectOf(&row.Items[i], of[row.Items[i].Of]))
		}
		page.Suspects = append(page.Suspects, r)
	}
	return page
}

func (s *Server) getBoilerplate(c echo.Context) any {
	return map[string]any{"passages": must.Get(s.cfg.Index.Boilerplate(c.Request().Context(), sourceName(c)))}
}

func (s *Server) postBoilerplate(c echo.Context) any {
	source, ctx := sourceName(c), c.Request().Context()
	var passage index.Passage
	readJSON(readBody(c), &passage)
	if !slices.Contains([]string{"in", "out", "learned"}, passage.State) {
		refuse("state", "is %.40q, want in, out or learned", passage.State)
	}
	checkReason(passage.Reason)
	passage.By, passage.At = decider(ctx, passage.By), nil
	must.Do(s.room())
	_, err := s.cfg.Ingest.Edit(ctx, index.Edit{Passage: &index.SourcePassage{Source: source, Passage: passage}})
	if errors.Is(err, index.ErrQuery) { // all else has been checked
		refuse("text", "is no passage: it is too long, or has neither letter nor digit")
	}
	must.Do(err)
	return s.getBoilerplate(c)
}

// listed is an item in a list, with what that list says of it.
type listed struct {
	ID          string        `json:"id"`
	Title       string        `json:"title"`
	Source      string        `json:"source,omitempty"`
	Published   *time.Time    `json:"published_at,omitempty"`
	Arrived     time.Time     `json:"arrived_at"`
	URL         string        `json:"url,omitempty"`
	Cluster     uint32        `json:"cluster,omitempty"`
	Series      uint32        `json:"series,omitempty"`
	Of          string        `json:"of,omitempty"`
	Verdict     index.Verdict `json:"verdict,omitempty"`
	Rule        index.Rule    `json:"rule,omitempty"`
	Distance    *int          `json:"distance,omitempty"`
	Margin      *float32      `json:"margin,omitempty"`
	Resemblance *float32      `json:"resemblance,omitempty"`
	Facts       *index.Facts  `json:"facts,omitempty"`
	Event       uint64        `json:"event,omitempty"` // the number of its last event
}

func listedOf(b *index.Brief) listed {
	return listed{ID: b.ID, Title: b.Title, Source: b.Source, Published: b.Published, Arrived: b.Arrived}
}

func memberOf(b *index.Brief) *listed {
	if b == nil {
		return nil
	}
	it := listedOf(b)
	it.Verdict, it.Rule, it.Distance, it.Resemblance, it.Event = b.Verdict, b.Rule, b.Distance, b.Resemblance, b.Event
	return &it
}

// suspectOf is an item that waits for a decision; of is the item that it is like, or nil.
func suspectOf(b, of *index.Brief) listed {
	it := *memberOf(b)
	it.Verdict = 0 // all of them are suspects
	it.URL, it.Cluster, it.Series, it.Margin, it.Facts = b.URL, b.Cluster, b.Series, b.Margin, b.Facts
	if of != nil {
		it.Of = of.ID
	}
	return it
}

// cluster is a lead and its rejected copies.
type cluster struct {
	ID uint32 `json:"cluster"`
	// Lead is nil if the cluster has none any more. Original is the presumed
	// original: the member with the earliest credible time of publication.
	Lead     *listed   `json:"lead"`
	Original *listed   `json:"original,omitempty"`
	Size     int       `json:"size"`
	Sources  int       `json:"sources"`
	First    time.Time `json:"first_at,omitzero"` // zero: no item is left
	Last     time.Time `json:"last_at,omitzero"`
	Members  []*listed `json:"members,omitempty"`
	Next     string    `json:"next,omitempty"` // page of members
	// What is below is of a telling in its story: the earlier one, what it was judged against there, and what it adds.
	Follows uint32       `json:"follows,omitempty"`
	Of      string       `json:"of,omitempty"`
	Adds    int          `json:"adds,omitempty"`
	Facts   *index.Facts `json:"facts,omitempty"`
}

func clusterOf(st *browse.ClusterBrief) cluster {
	return cluster{ID: st.ID, Lead: memberOf(st.Lead), Original: memberOf(st.Original), Size: st.Size,
		Sources: st.Sources, First: st.First, Last: st.Last}
}

// suspectRow is one suspect, or a series of them.
type suspectRow struct {
	Likely  float64  `json:"likely"`
	Watched bool     `json:"watched,omitempty"`
	Waiting int      `json:"waiting"`
	Family  uint32   `json:"family,omitempty"`
	Items   []listed `json:"items"`
}

type hotItem struct {
	listed
	Sources int     `json:"sources"`
	Score   float64 `json:"score"`
}
