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
	"jianguo/ingest"
)

// Bounds of a page.
const (
	maxEvents   = 1000
	maxClusters = 200
)

// ndjsonType is the content type of one JSON value a line.
const ndjsonType = "application/x-ndjson"

// getVerdicts is the event log again, from the catalogue: a JSON array, or one
// event a line.
func (s *Server) getVerdicts(c echo.Context) error {
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
func (s *Server) awaitEvent(ctx context.Context, after uint64, wait time.Duration) error {
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

// clusterQuery reads what to list.
func clusterQuery(c echo.Context) (q index.ClusterQuery, err error) {
	q = index.ClusterQuery{Sort: c.QueryParam("sort"), Source: c.QueryParam("source"), Cursor: c.QueryParam("cursor")}
	switch q.Sort {
	case "", "last", "size", "first":
	default:
		return q, &ingest.FieldError{Field: "sort", Problem: fmt.Sprintf("is %.40q, want last, size or first", q.Sort)}
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
	return q, nil
}

// listClusters asks the index for a page of clusters.
func (s *Server) listClusters(c echo.Context, q index.ClusterQuery) (*index.ClusterPage, error) {
	page, err := s.cfg.Index.Clusters(c.Request().Context(), q)
	if errors.Is(err, index.ErrQuery) {
		// The rest of the query has been checked already.
		return nil, &ingest.FieldError{Field: "cursor", Problem: fmt.Sprintf("is %.40q, which no page has given as its next", q.Cursor)}
	}
	return page, err
}

func (s *Server) getClusters(c echo.Context) error {
	q, err := clusterQuery(c)
	if err != nil {
		return err
	}
	page, err := s.listClusters(c, q)
	if err != nil {
		return err
	}
	return c.JSON(http.StatusOK, page)
}

// findCluster looks up a cluster by its number in text.
func (s *Server) findCluster(c echo.Context, field, number string) (*index.Cluster, error) {
	var id uint32
	if err := json.Unmarshal([]byte(number), &id); err != nil || id == 0 {
		return nil, &ingest.FieldError{Field: field, Problem: fmt.Sprintf("is %.40q, want the number of a cluster", number)}
	}
	cluster, err := s.cfg.Index.Cluster(c.Request().Context(), id)
	if errors.Is(err, index.ErrNotFound) {
		return nil, caused(http.StatusNotFound, fmt.Sprintf("no cluster has the number %d", id), err)
	}
	return cluster, err
}

func (s *Server) getCluster(c echo.Context) error {
	cluster, err := s.findCluster(c, "id", c.Param("id"))
	if err != nil {
		return err
	}
	return c.JSON(http.StatusOK, cluster)
}
