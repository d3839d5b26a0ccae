package exposure

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"io/fs"
	"log/slog"
	"maps"
	"math"
	"os"
	"slices"
	"sync"
	"time"

	"jianguo/exposure/wire"
	"jianguo/internal/clock"
	"jianguo/internal/disk"
	"jianguo/internal/wrap"
)

// PopularItem is an item and how often it was seen, each time weighed by its age: half after PopularHalfLife.
type PopularItem struct {
	ID     string
	Weight float64
}

// PopularHalfLife is how long it takes for an exposure to weigh half.
const PopularHalfLife = 12 * time.Hour

// mostPopular is how many items are counted: the heaviest of twice as many are
// kept whenever there are those.
const mostPopular = 1 << 15

// popularCounts counts what all users together were shown. Load must be called before any other
// method; all others may be called from any goroutine. The file holds counts as JSON.
type popularCounts struct {
	mu sync.Mutex
	// mu; by item the logarithm of its weight, to the base 2, in 1970. All weights decay alike, so that one is
	// more than another one at all times, and logarithms do not overflow.
	counts map[string]float64
	events uint64 // mu; that were counted
	saved  uint64 // of them, those in the file; of Save
}

// halfLives is the number of half-lives between 1970 and a time.
func halfLives(at time.Time) float64 { return float64(at.Unix()) / PopularHalfLife.Seconds() }

// Add counts the items of an event, which happened at a time, or now where that is not known or yet to come: an old
// exposure, as of an import, makes nothing popular today.
func (p *popularCounts) Add(q *wire.Query, at, now time.Time) {
	if at.IsZero() || at.After(now) {
		at = now
	}
	one := halfLives(at)
	p.mu.Lock()
	defer p.mu.Unlock()
	p.events++
	for i := range q.Len() {
		id := string(q.ID(i))
		if weight, known := p.counts[id]; known {
			heavy, light := max(weight, one), min(weight, one)
			p.counts[id] = heavy + math.Log2(1+math.Exp2(light-heavy))
			continue
		}
		if len(p.counts) >= 2*mostPopular-1 {
			p.shrink()
		}
		p.counts[id] = one
	}
}

// shrink keeps the heavier half, of equal ones some.
func (p *popularCounts) shrink() {
	weights := slices.Sorted(maps.Values(p.counts)) // takes milliseconds, once per mostPopular new items
	least := weights[len(weights)-mostPopular]
	maps.DeleteFunc(p.counts, func(_ string, weight float64) bool { return weight < least })
	maps.DeleteFunc(p.counts, func(_ string, weight float64) bool {
		return weight == least && len(p.counts) > mostPopular
	})
}

// Top lists the n heaviest items, with their weights at a time, heaviest first; fewer if fewer are counted.
func (p *popularCounts) Top(n int, at time.Time) []PopularItem {
	p.mu.Lock()
	out := make([]PopularItem, 0, len(p.counts))
	for id, weight := range p.counts {
		if weight -= halfLives(at); weight < 40 { // 2⁴⁰ is no count: the clock was ahead then, and is not any more
			out = append(out, PopularItem{id, math.Exp2(weight)})
		} else {
			delete(p.counts, id)
		}
	}
	p.mu.Unlock()
	slices.SortFunc(out, func(a, b PopularItem) int {
		return cmp.Or(cmp.Compare(b.Weight, a.Weight), cmp.Compare(a.ID, b.ID))
	})
	return out[:min(n, len(out))]
}

// Load reads the file. A missing file is not an error. What cannot be read starts from zero.
func (p *popularCounts) Load(path string) error {
	p.counts = map[string]float64{}
	b, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err == nil {
		err = json.Unmarshal(b, new(p.counts)) // into this map, also where the file has null
	}
	return err
}

// Save writes the file if something has been counted. One goroutine at a time calls it.
func (p *popularCounts) Save(path string) error {
	p.mu.Lock()
	events := p.events
	b, err := json.Marshal(p.counts)
	p.mu.Unlock()
	if err == nil && events != p.saved {
		if err = disk.Replace(path, b, 0o600); err == nil {
			p.saved = events
		}
	}
	return wrap.Err(err, "exposure: popular items")
}

// SaveLoop writes the file once a minute until the context ends. A crash loses the last minute.
func (p *popularCounts) SaveLoop(ctx context.Context, path string, logger *slog.Logger) {
	for clock.Sleep(ctx, time.Minute) == nil {
		if err := p.Save(path); err != nil {
			logger.Warn("exposure: counts of popular items not written", "err", err)
		}
	}
}
