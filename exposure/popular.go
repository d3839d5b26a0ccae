package exposure

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"slices"
	"sync"
	"time"

	"jianguo/exposure/wire"
)

// Popular is an item and how often it was seen, each time weighed by its age:
// half after PopularHalf.
type Popular struct {
	Item   string    `json:"item"`
	Weight float64   `json:"weight"`
	At     time.Time `json:"at"` // when it had that weight
}

// PopularHalf is how long it takes for an exposure to count half.
const PopularHalf = 12 * time.Hour

// popularLimit is how many items are counted: the heaviest of twice as many are
// kept whenever there are those.
const popularLimit = 1 << 15

// PopularSuffix follows the name of the state file in the name of the file of the counts.
// Without that file counting starts from zero. A crash loses the last minute of it.
const PopularSuffix = ".popular"

// popular counts what all users together were shown. Decay runs forward (Cormode et al.
// 2009): an exposure at t adds 2^((t-landmark)/half), so that weights of all ages can be
// compared, and counting is one addition. A reader scales by the time of reading.
type popular struct {
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
func (p *popular) weight(at int64) float64 {
	if at == p.at && p.one != 0 {
		return p.one
	}
	half := int64(PopularHalf / time.Second)
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

// add counts the items of an event.
func (p *popular) add(q *wire.Query, at time.Time) {
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
		if len(p.counts) >= 2*popularLimit-1 {
			p.shrink()
		}
		w := one
		p.counts[string(id)] = &w
	}
}

// shrink keeps the heavier half.
func (p *popular) shrink() {
	weights := make([]float64, 0, len(p.counts))
	for _, w := range p.counts {
		weights = append(weights, *w)
	}
	slices.Sort(weights) // some milliseconds, once for popularLimit new items
	least := weights[len(weights)-popularLimit]
	for id, w := range p.counts {
		if *w <= least {
			delete(p.counts, id)
		}
	}
}

// top lists the heaviest items.
func (p *popular) top(n int, at time.Time) []Popular {
	p.mu.Lock()
	scale := math.Exp2(-float64(at.Unix()-p.landmark) / PopularHalf.Seconds())
	out := make([]Popular, 0, len(p.counts))
	for id, w := range p.counts {
		out = append(out, Popular{Item: id, Weight: *w * scale, At: at})
	}
	p.mu.Unlock()
	slices.SortFunc(out, func(a, b Popular) int { return cmp.Or(cmp.Compare(b.Weight, a.Weight), cmp.Compare(a.Item, b.Item)) })
	return out[:min(n, len(out))]
}

// load reads the file. A missing file is not an error.
func (p *popular) load(path string) error {
	p.counts = map[string]*float64{}
	b, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	var list []Popular
	if err == nil {
		err = json.Unmarshal(b, &list)
	}
	for _, e := range list {
		w := e.Weight * p.weight(e.At.Unix())
		p.counts[e.Item] = &w
	}
	return err
}

// save writes the file if a count has changed.
func (p *popular) save(path string, now time.Time) error {
	p.mu.Lock()
	dirty := p.dirty
	p.dirty = false
	p.mu.Unlock()
	if !dirty {
		return nil
	}
	b, err := json.Marshal(p.top(popularLimit, now))
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

const popularEvery = time.Minute

// saveLoop writes the file once a minute.
func (p *popular) saveLoop(ctx context.Context, cfg Config) {
	tick := time.NewTicker(popularEvery)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
			if err := p.save(cfg.Path+PopularSuffix, cfg.Clock()); err != nil {
				cfg.Logger.Warn("exposure: counts of popular items not written", "err", err)
			}
		}
	}
}
