// Package popular counts what all users together were shown, and lists the items seen most.
package popular

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"io/fs"
	"log/slog"
	"math"
	"os"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"jianguo/exposure/wire"
	"jianguo/internal/disk"
	"jianguo/internal/wait"
	"jianguo/internal/wrap"
)

// Item is an item and how often it was seen, each time weighed by its age: half after Half.
type Item struct {
	ID     string    `json:"item"`
	Weight float64   `json:"weight"`
	At     time.Time `json:"at"` // when it had that weight
}

// Half is how long it takes for an exposure to count half.
const Half = 12 * time.Hour

// limit is how many items are counted: the heaviest of twice as many are
// kept whenever there are those.
const limit = 1 << 15

// Counts counts what all users together were shown. Load must be called before any other
// method; all others may be called from any goroutine. The file holds a list of Item as JSON.
type Counts struct {
	mu     sync.Mutex
	counts map[string]*count // under mu
	dirty  atomic.Bool       // not in the file yet
}

// count is a weight at a time.
type count struct{ weight, at float64 } // at in seconds since 1970

// decayed is the weight at another time.
func (c count) decayed(at float64) float64 { return c.weight * math.Exp2((c.at-at)/Half.Seconds()) }

// add adds a weight at a time, which may lie before the last one.
func (p *Counts) add(id []byte, weight, at float64) {
	c := p.counts[string(id)]
	if c == nil {
		if len(p.counts) >= 2*limit-1 {
			p.shrink(at)
		}
		c = &count{0, at}
		p.counts[string(id)] = c
	}
	if at > c.at {
		*c = count{c.decayed(at), at}
	}
	c.weight += count{weight, at}.decayed(c.at)
}

// Add counts the items of an event, which happened at a time, or now where that is not known or yet to come: an old
// exposure, as of an import, makes nothing popular today.
func (p *Counts) Add(q *wire.Query, at, now time.Time) {
	if at.IsZero() || at.After(now) {
		at = now
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.dirty.Store(true)
	for i := range q.Len() {
		p.add(q.ID(i), 1, float64(at.Unix()))
	}
}

// shrink keeps the heavier half.
func (p *Counts) shrink(at float64) {
	weights := make([]float64, 0, len(p.counts))
	for _, c := range p.counts {
		weights = append(weights, c.decayed(at))
	}
	slices.Sort(weights) // takes milliseconds, once per limit new items
	least := weights[len(weights)-limit]
	for id, c := range p.counts {
		if c.decayed(at) <= least {
			delete(p.counts, id)
		}
	}
}

// Top lists the n heaviest items at a time, heaviest first; fewer if fewer are counted.
func (p *Counts) Top(n int, at time.Time) []Item {
	p.mu.Lock()
	out := make([]Item, 0, len(p.counts))
	for id, c := range p.counts {
		out = append(out, Item{ID: id, Weight: c.decayed(float64(at.Unix())), At: at})
	}
	p.mu.Unlock()
	slices.SortFunc(out, func(a, b Item) int { return cmp.Or(cmp.Compare(b.Weight, a.Weight), cmp.Compare(a.ID, b.ID)) })
	return out[:min(n, len(out))]
}

// Load reads the file. A missing file is not an error. What cannot be read starts from zero.
func (p *Counts) Load(path string) error {
	p.counts = map[string]*count{}
	b, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	var list []Item
	if err == nil {
		err = json.Unmarshal(b, &list)
	}
	for _, e := range list {
		p.add([]byte(e.ID), e.Weight, float64(e.At.Unix()))
	}
	return err
}

// Save writes the file if a count has changed.
func (p *Counts) Save(path string, now time.Time) error {
	if !p.dirty.Swap(false) {
		return nil
	}
	b, err := json.Marshal(p.Top(limit, now))
	if err == nil {
		err = disk.Replace(path, b, 0o600)
	}
	return wrap.Err(err, "exposure: popular items")
}

// SaveLoop writes the file once a minute until the context ends. A crash loses the last minute.
func (p *Counts) SaveLoop(ctx context.Context, path string, clock func() time.Time, logger *slog.Logger) {
	for wait.For(ctx, time.Minute) == nil {
		if err := p.Save(path, clock()); err != nil {
			logger.Warn("exposure: counts of popular items not written", "err", err)
		}
	}
}
