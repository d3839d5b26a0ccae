package exposure

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

// PopularItem is an item and how often it was seen, each time weighed by its age: half after PopularHalf.
type PopularItem struct {
	ID     string    `json:"item"`
	Weight float64   `json:"weight"`
	At     time.Time `json:"at"` // when it had that weight
}

// PopularHalf is how long it takes for an exposure to weighed half.
const PopularHalf = 12 * time.Hour

// mostPopular is how many items are counted: the heaviest of twice as many are
// kept whenever there are those.
const mostPopular = 1 << 15

// popularCounts counts what all users together were shown. Load must be called before any other
// method; all others may be called from any goroutine. The file holds a list of PopularItem as JSON.
type popularCounts struct {
	mu     sync.Mutex
	counts map[string]*weighed // under mu
	dirty  atomic.Bool         // not in the file yet
}

// weighed is a weight at a time.
type weighed struct{ weight, at float64 } // at in seconds since 1970

// decayed is the weight at another time.
func (c weighed) decayed(at float64) float64 {
	return c.weight * math.Exp2((c.at-at)/PopularHalf.Seconds())
}

// add adds a weight at a time, which may lie before the last one.
func (p *popularCounts) add(id []byte, weight, at float64) {
	c := p.counts[string(id)]
	if c == nil {
		if len(p.counts) >= 2*mostPopular-1 {
			p.shrink(at)
		}
		c = &weighed{0, at}
		p.counts[string(id)] = c
	}
	if at > c.at {
		*c = weighed{c.decayed(at), at}
	}
	c.weight += weighed{weight, at}.decayed(c.at)
}

// Add counts the items of an event, which happened at a time, or now where that is not known or yet to come: an old
// exposure, as of an import, makes nothing popular today.
func (p *popularCounts) Add(q *wire.Query, at, now time.Time) {
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
func (p *popularCounts) shrink(at float64) {
	weights := make([]float64, 0, len(p.counts))
	for _, c := range p.counts {
		weights = append(weights, c.decayed(at))
	}
	slices.Sort(weights) // takes milliseconds, once per mostPopular new items
	least := weights[len(weights)-mostPopular]
	for id, c := range p.counts {
		if c.decayed(at) <= least {
			delete(p.counts, id)
		}
	}
}

// Top lists the n heaviest items at a time, heaviest first; fewer if fewer are counted.
func (p *popularCounts) Top(n int, at time.Time) []PopularItem {
	p.mu.Lock()
	out := make([]PopularItem, 0, len(p.counts))
	for id, c := range p.counts {
		out = append(out, PopularItem{ID: id, Weight: c.decayed(float64(at.Unix())), At: at})
	}
	p.mu.Unlock()
	slices.SortFunc(out, func(a, b PopularItem) int {
		return cmp.Or(cmp.Compare(b.Weight, a.Weight), cmp.Compare(a.ID, b.ID))
	})
	return out[:min(n, len(out))]
}

// Load reads the file. A missing file is not an error. What cannot be read starts from zero.
func (p *popularCounts) Load(path string) error {
	p.counts = map[string]*weighed{}
	b, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	var list []PopularItem
	if err == nil {
		err = json.Unmarshal(b, &list)
	}
	for _, e := range list {
		p.add([]byte(e.ID), e.Weight, float64(e.At.Unix()))
	}
	return err
}

// Save writes the file if a weighed has changed.
func (p *popularCounts) Save(path string, now time.Time) error {
	if !p.dirty.Swap(false) {
		return nil
	}
	b, err := json.Marshal(p.Top(mostPopular, now))
	if err == nil {
		err = disk.Replace(path, b, 0o600)
	}
	return wrap.Err(err, "exposure: popular items")
}

// SaveLoop writes the file once a minute until the context ends. A crash loses the last minute.
func (p *popularCounts) SaveLoop(ctx context.Context, path string, clock func() time.Time, logger *slog.Logger) {
	for wait.For(ctx, time.Minute) == nil {
		if err := p.Save(path, clock()); err != nil {
			logger.Warn("exposure: counts of popular items not written", "err", err)
		}
	}
}
