package api

import (
	"sync"
	"time"
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
	mu    sync.Mutex
	at    time.Time // when it was made; under mu
	items []hotItem // replaced, never changed; under mu
}
