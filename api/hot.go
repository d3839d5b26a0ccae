package api

import (
	"cmp"
	"context"
	"encoding/json"
	"maps"
	"math"
	"slices"
	"sync"
	"time"

	"github.com/labstack/echo/v4"

	"jianguo/exposure"
	"jianguo/exposure/wire"
	"jianguo/index/browse"
	"jianguo/internal/must"
)

// Bounds of the hot list.
const (
	maxHot  = 500  // items an answer
	hotSize = 5000 // stories and newest items that are ranked, each
	hotAge  = 5 * time.Second
)

// hotList ranks leads by how many sources have their story and how often any
// copy of it was seen, both weighed by age. A request rebuilds it if it is
// older than hotAge.
type hotList struct {
	*Server

	mu    sync.Mutex
	at    time.Time // when it was made; under mu
	items []hotItem // replaced, never changed; under mu
	// leads are those of items by ordinal: what is listed of a version never changes; under mu
	leads map[uint32]listed
}

func (l *hotList) list(ctx context.Context) []hotItem {
	l.mu.Lock()
	defer l.mu.Unlock()
	now := time.Now()
	if now.Sub(l.at) >= hotAge {
		l.items, l.at = l.rank(ctx, now), now
	}
	return l.items
}

// rank makes the list: pull + log2(1 + exposures).
func (l *hotList) rank(ctx context.Context, now time.Time) []hotItem {
	var seen []exposure.PopularItem
	if l.cfg.Exposure != nil {
		seen = l.cfg.Exposure.Popular(hotSize)
	}
	ids := make([]string, len(seen))
	for i := range seen {
		ids[i] = seen[i].ID
	}
	clusters := must.Get(l.cfg.Index.ClustersOf(ctx, ids))
	exposures := map[uint32]float64{}
	for _, e := range seen {
		if c := clusters[e.ID]; c != 0 {
			exposures[c] += e.Weight
		}
	}
	hots := must.Get(l.cfg.Browse.Hot(ctx, now, hotSize, slices.Collect(maps.Keys(exposures))))
	items := make([]hotItem, 0, len(hots))
	for i, leads := 0, l.readLeads(ctx, hots); i < len(hots); i++ {
		h := &hots[i]
		if it, ok := leads[h.Lead]; ok {
			it.Cluster = h.Cluster
			score := math.Round(1000*(h.Pull+math.Log2(1+exposures[h.Cluster]))) / 1000
			items = append(items, hotItem{it, h.Sources, score})
		}
	}
	slices.SortStableFunc(items, func(a, b hotItem) int { return cmp.Compare(b.Score, a.Score) })
	return items[:min(len(items), wire.MaxItems)]
}

// readLeads reads the leads that the list before did not have.
func (l *hotList) readLeads(ctx context.Context, hots []browse.Hot) map[uint32]listed {
	leads := make(map[uint32]listed, len(hots))
	var others []uint32
	for _, h := range hots {
		if it, ok := l.leads[h.Lead]; ok {
			leads[h.Lead] = it
		} else {
			others = append(others, h.Lead)
		}
	}
	for ordinal, b := range must.Get(l.cfg.Index.Briefs(ctx, others)) {
		leads[ordinal] = listedOf(b)
	}
	l.leads = leads
	return leads
}

// get answers with what is hot, minus what a user has seen.
func (l *hotList) get(c echo.Context) any {
	limit := queryInt(c, "limit", 50, 1, maxHot)
	items := l.list(c.Request().Context())
	var answer struct {
		Items    []hotItem `json:"items"`
		Degraded string    `json:"degraded,omitempty"`
	}
	if user := c.QueryParam("user"); user != "" {
		items, answer.Degraded = l.unseen(c, user, items, limit)
	}
	answer.Items = append([]hotItem{}, items[:min(len(items), limit)]...)
	return answer
}

func (l *hotList) unseen(c echo.Context, user string, items []hotItem, limit int) (rest []hotItem, degraded string) {
	if l.cfg.Exposure == nil {
		refuse("user", "is given, but this service keeps no exposures")
	}
	ids := make([]string, len(items))
	for i := range items {
		ids[i] = items[i].ID
	}
	request := must.Get(json.Marshal(map[string]any{"user": user, "items": ids, "scene": c.QueryParam("scene"),
		"max": limit}))
	bitmap, o := must.Get2(l.cfg.Exposure.FilterBytes(c.Request().Context(), nil, request, exposure.Bitmap))
	for i := range items {
		if bitmap[i/8]>>(i%8)&1 == 1 {
			rest = append(rest, items[i])
		}
	}
	return rest, o.Degraded
}
