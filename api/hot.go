package api

import (
	"cmp"
	"context"
	"encoding/json"
	"math"
	"net/http"
	"slices"
	"sync"
	"time"

	"github.com/labstack/echo/v4"

	"jianguo/exposure"
	"jianguo/exposure/popular"
	"jianguo/ingest"
)

// Bounds of the hot list.
const (
	maxHot  = 500  // items an answer
	hotSize = 5000 // stories and newest items that are ranked, each
	hotAge  = 5 * time.Second
)

// hotItem is one lead of the hot list.
type hotItem struct {
	ID        string     `json:"id"`
	Title     string     `json:"title"`
	Source    string     `json:"source,omitempty"`
	Published *time.Time `json:"published_at,omitempty"`
	Arrived   time.Time  `json:"arrived_at"`
	Cluster   uint32     `json:"cluster"`
	Sources   int        `json:"sources"`
	Score     float64    `json:"score"`
}

// hotList ranks leads by how many sources have their story and how often any
// copy of it was seen, both weighed by age. A request rebuilds it if it is
// older than hotAge.
type hotList struct {
	server *Server

	mu    sync.Mutex
	at    time.Time // when it was made; under mu
	items []hotItem // replaced, never changed; under mu
}

// list returns the list.
func (l *hotList) list(ctx context.Context) ([]hotItem, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	now := time.Now()
	if now.Sub(l.at) < hotAge {
		return l.items, nil
	}
	var seen []popular.Item
	if l.server.exposure != nil {
		seen = l.server.exposure.Popular(hotSize)
	}
	items, err := l.rank(ctx, now, seen)
	if err != nil {
		return nil, err
	}
	l.at, l.items = now, items
	return items, nil
}

// rank makes the list: pull + log2(1 + exposures).
func (l *hotList) rank(ctx context.Context, now time.Time, seen []popular.Item) ([]hotItem, error) {
	ids := make([]string, len(seen))
	for i := range seen {
		ids[i] = seen[i].ID
	}
	clusters, err := l.server.cfg.Index.ClustersOf(ctx, ids)
	if err != nil {
		return nil, err
	}
	exposures := map[uint32]float64{}
	var further []uint32
	for _, e := range seen {
		if c := clusters[e.ID]; c != 0 {
			if exposures[c] == 0 {
				further = append(further, c)
			}
			exposures[c] += e.Weight
		}
	}
	hots, err := l.server.cfg.Browse.Hot(ctx, now, hotSize, further)
	if err != nil {
		return nil, err
	}
	items := make([]hotItem, len(hots))
	for i := range hots {
		h := &hots[i]
		items[i] = hotItem{ID: h.Lead.ID, Title: h.Lead.Title, Source: h.Lead.Source, Published: h.Lead.Published, Arrived: h.Lead.Arrived,
			Cluster: h.Cluster, Sources: h.Sources, Score: math.Round(1000*(h.Pull+math.Log2(1+exposures[h.Cluster]))) / 1000}
	}
	slices.SortStableFunc(items, func(a, b hotItem) int { return cmp.Compare(b.Score, a.Score) })
	return items[:min(len(items), exposure.MaxItems)], nil
}

// get answers with what is hot, minus what a user has seen.
func (l *hotList) get(c echo.Context) error {
	limit, err := queryInt(c, "limit", 50, 1, maxHot)
	if err != nil {
		return err
	}
	items, err := l.list(c.Request().Context())
	if err != nil {
		return err
	}
	answer := struct {
		Items    []hotItem `json:"items"`
		Degraded string    `json:"degraded,omitempty"`
	}{Items: []hotItem{}}
	if user := c.QueryParam("user"); user != "" {
		items, answer.Degraded, err = l.unseen(c, user, items, int(limit))
		if err != nil {
			return err
		}
	}
	answer.Items = append(answer.Items, items[:min(len(items), int(limit))]...)
	return c.JSON(http.StatusOK, answer)
}

// unseen keeps the first items that a user has not seen.
func (l *hotList) unseen(c echo.Context, user string, items []hotItem, limit int) ([]hotItem, string, error) {
	if l.server.exposure == nil {
		return nil, "", &ingest.FieldError{Field: "user", Problem: "is given, but this service keeps no exposures"}
	}
	ids := make([]string, len(items))
	for i := range items {
		ids[i] = items[i].ID
	}
	body, err := json.Marshal(map[string]any{"user": user, "items": ids, "scene": c.QueryParam("scene"), "max": limit})
	if err == nil {
		body, _, err = l.server.exposure.FilterBytes(c.Request().Context(), nil, body, exposure.JSON)
	}
	if err != nil {
		return nil, "", l.server.exposureProblem(err)
	}
	var answer struct {
		Items    []string
		Degraded string
	}
	if err := json.Unmarshal(body, &answer); err != nil {
		return nil, "", err
	}
	left := make([]hotItem, 0, limit)
	next := 0
	for i := range items {
		if next < len(answer.Items) && items[i].ID == answer.Items[next] {
			left, next = append(left, items[i]), next+1
		}
	}
	return left, answer.Degraded, nil
}
