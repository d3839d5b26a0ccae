// Package popular counts what all users together were shown, and lists the items seen most.
package popular

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"math"
	"os"
	"slices"
	"sync"
	"time"

	"jianguo/exposure/wire"
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
//
// Decay runs forward (Cormode et al. 2009): an exposure at t adds 2^((t-landmark)/half), so that
// weights of all ages can be compared, and counting is one addition. A reader scales by the
// time of reading.
type Counts struct {
	mu       sync.Mutex
	counts   map[string]*float64 // under mu
	landmark int64               // under mu; unix seconds
	at       int64               // under mu; unix seconds of the last event, which adds one
	one      float64             // under mu
	dirty    bool                // under mu; not in the file yet
}

// farthest is how many half-lives the landmark may lie in the past. Then all sums are
// rescaled, long before they overflow a float64.
const farthest = 64

// weight is what an exposure at a time adds. The caller holds mu.
func (p *Counts) weight(at int64) float64 {
	if at == p.at && p.one != 0 {
		return p.one
	}
	half := int64(Half / time.Second)
	if p.landmark == 0 {
		p.landmark = at
	}
	if at-p.landmark > farthest*half {
		scale := math.Exp2(-float64(at-p.landmark) / float64(half))
		for _, w := range p.counts {
			*w *= scale
		}
		p.landmark = at
	}
	p.at, p.one = at, math.Exp2(float64(at-p.landmark)/float64(half))
	return p.one
}

// Add counts the items of an event.
func (p *Counts) Add(q *wire.Query, at time.Time) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.dirty = true
	one := p.weight(at.Unix())
	for i := range q.Len() {
		id := q.ID(i)
		if w := p.counts[string(id)]; w != nil {
			*w += one
			continue
		}
		if len(p.counts) >= 2*limit-1 {
			p.shrink()
		}
		w := one
		p.counts[string(id)] = &w
	}
}

// shrink keeps the heavier half.
func (p *Counts) shrink() {
	weights := make([]float64, 0, len(p.counts))
	for _, w := range p.counts {
		weights = append(weights, *w)
	}
	slices.Sort(weights) // takes milliseconds, once per limit new items
	least := weights[len(weights)-limit]
	for id, w := range p.counts {
		if *w <= least {
			delete(p.counts, id)
		}
	}
}

// Top lists the n heaviest items at a time, heaviest first; fewer if fewer are counted.
func (p *Counts) Top(n int, at time.Time) []Item {
	p.mu.Lock()
	scale := math.Exp2(-float64(at.Unix()-p.landmark) / Half.Seconds())
	out := make([]Item, 0, len(p.counts))
	for id, w := range p.counts {
		out = append(out, Item{ID: id, Weight: *w * scale, At: at})
	}
	p.mu.Unlock()
	slices.SortFunc(out, func(a, b Item) int { return cmp.Or(cmp.Compare(b.Weight, a.Weight), cmp.Compare(a.ID, b.ID)) })
	return out[:min(n, len(out))]
}

// Load reads the file. A missing file is not an error. What cannot be read starts from zero.
func (p *Counts) Load(path string) error {
	p.counts = map[string]*float64{}
	b, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	var list []Item
	if err == nil {
		err = json.Unmarshal(b, &list)
	}
	for _, e := range list {
		w := e.Weight * p.weight(e.At.Unix())
		p.counts[e.ID] = &w
	}
	return err
}

// Save writes the file if a count has changed.
func (p *Counts) Save(path string, now time.Time) error {
	p.mu.Lock()
	dirty := p.dirty
	p.dirty = false
	p.mu.Unlock()
	if !dirty {
		return nil
	}
	b, err := json.Marshal(p.Top(limit, now))
	if err == nil {
		err = os.WriteFile(path+".new", b, 0o640)
	}
	if err == nil {
		err = os.Rename(path+".new", path)
	}
	if err != nil {
		return fmt.Errorf("exposure: popular items: %w", err)
	}
	return nil
}

// SaveLoop writes the file once a minute until the context ends. A crash loses the last minute.
func (p *Counts) SaveLoop(ctx context.Context, path string, clock func() time.Time, logger *slog.Logger) {
	tick := time.NewTicker(time.Minute)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
			if err := p.Save(path, clock()); err != nil {
				logger.Warn("exposure: counts of popular items not written", "err", err)
			}
		}
	}
}
