package ingest

import (
	"cmp"
	"context"
	"sync"
	"time"

	"jianguo/ingest/prepared"
)

// segmenterPatience is how long a segmenter may take to say that it is there.
const segmenterPatience = 4 * prepared.BeatEvery

// segmenters are other processes that prepare items for this one.
type segmenters struct {
	mu    sync.Mutex
	free  sync.Cond // of mu: a segmenter may have become free, nothing is ahead any more, or a context ended
	known map[string]*segmenterState
	ahead int // jobs that are prepared and in no batch yet
}

// segmenterState is a segmenter as this process sees it; under mu.
type segmenterState struct {
	room, busy int
	heard      time.Time
}

// hear takes note of a segmenter of the same recipe.
func (p *segmenters) hear(b *prepared.Beat) {
	p.mu.Lock()
	defer p.mu.Unlock()
	state := cmp.Or(p.known[b.ID], new(segmenterState))
	p.known[b.ID] = state
	state.room, state.heard = prepared.Depth*b.Workers, time.Now()
	p.free.Broadcast()
}

// take returns the id of the segmenter that has the most room. While none has, it waits, unless nothing is
// prepared ahead of the catalogue: then, and where there is no segmenter, the id is empty, and this process prepares
// an item itself.
func (p *segmenters) take(ctx context.Context) string {
	p.mu.Lock()
	defer p.mu.Unlock()
	for {
		best, present := "", false
		for id, s := range p.known {
			here := time.Since(s.heard) < segmenterPatience
			present = present || here
			switch {
			case !here && s.busy == 0:
				delete(p.known, id)
			case here && s.busy < s.room && (best == "" || s.room-s.busy > p.known[best].room-p.known[best].busy):
				best = id
			}
		}
		if best != "" {
			p.known[best].busy++
		}
		if best != "" || !present || p.ahead <= 0 || ctx.Err() != nil {
			return best
		}
		p.free.Wait()
	}
}

// count adds to the number of jobs that are prepared and in no batch yet.
func (p *segmenters) count(n int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.ahead += n; p.ahead == 0 {
		p.free.Broadcast()
	}
}

// leave gives a segmenter back. One that failed gets nothing until it is heard again.
func (p *segmenters) leave(id string, failed bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	s := p.known[id]
	if s.busy--; failed {
		s.heard = time.Time{}
	}
	p.free.Broadcast()
}
