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

// PopularSuffix is what the file of the counts is called, behind the name of the
// state file. It is a convenience: without it counting begins anew, and a crash
// takes the last minute of it.
const PopularSuffix = ".popular"

// popular counts what all users together were shown.
type popular struct {
	mu     sync.Mutex
	counts map[string]weighed // under mu
	dirty  bool               // under mu; not in the file yet
}

type weighed struct {
	weight float64
	at     int64 // unix seconds
}

func (w weighed) when(now int64) float64 {
	return w.weight * math.Exp2(-float64(now-w.at)/PopularHalf.Seconds())
}

// add counts the items of an event.
func (p *popular) add(m *message, at time.Time) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.dirty = true
	now := at.Unix()
	for i := range m.spans {
		id := m.id(i)
		w, known := p.counts[string(id)]
		w.weight, w.at = w.when(max(now, w.at))+1, max(now, w.at)
		p.counts[string(id)] = w
		if !known && len(p.counts) >= 2*popularLimit {
			p.shrink(now)
		}
	}
}

func (p *popular) shrink(now int64) {
	weights := make([]float64, 0, len(p.counts))
	for _, w := range p.counts {
		weights = append(weights, w.when(now))
	}
	slices.Sort(weights)
	least := weights[len(weights)-popularLimit]
	for id, w := range p.counts {
		if w.when(now) <= least {
			delete(p.counts, id)
		}
	}
}

// top lists the heaviest items.
func (p *popular) top(n int, at time.Time) []Popular {
	p.mu.Lock()
	out := make([]Popular, 0, len(p.counts))
	for id, w := range p.counts {
		out = append(out, Popular{Item: id, Weight: w.when(at.Unix()), At: at})
	}
	p.mu.Unlock()
	slices.SortFunc(out, func(a, b Popular) int { return cmp.Or(cmp.Compare(b.Weight, a.Weight), cmp.Compare(a.Item, b.Item)) })
	return out[:min(n, len(out))]
}

// load reads the file; a file that is missing, or cannot be read, is none.
func (p *popular) load(path string) error {
	p.counts = map[string]weighed{}
	b, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	var list []Popular
	if err == nil {
		err = json.Unmarshal(b, &list)
	}
	for _, e := range list {
		p.counts[e.Item] = weighed{e.Weight, e.At.Unix()}
	}
	return err
}

// save writes the file, if there is anything new.
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

// Popular lists the items most seen of late, by all users, the heaviest first.
func (s *Store) Popular(n int) []Popular { return s.popular.top(n, s.cfg.Clock()) }

const popularEvery = time.Minute

func (s *Store) popularLoop(ctx context.Context) {
	tick := time.NewTicker(popularEvery)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
			if err := s.popular.save(s.cfg.Path+PopularSuffix, s.cfg.Clock()); err != nil {
				s.cfg.Logger.Warn("exposure: counts of popular items not written", "err", err)
			}
		}
	}
}
