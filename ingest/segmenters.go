package ingest

import (
	"context"
	"encoding/json"
	"fmt"
	"sync"
	"time"

	"github.com/nats-io/nats.go"

	"jianguo/bus"
	"jianguo/index"
	"jianguo/ingest/prepared"
)

const (
	// segmenterPatience is how long a segmenter may take to say that it is there.
	segmenterPatience = 4 * prepared.BeatEvery
	// itemPatience is how long one may take for an item. Then it is prepared here, and the segmenter gets none until it
	// is heard again.
	itemPatience = 300 * time.Millisecond
)

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

// serveSegmenters listens to segmenters until stop is called.
func (s *Service) serveSegmenters() (stop func(), err error) {
	p := &s.segmenters
	p.free.L, p.known = &p.mu, map[string]*segmenterState{}
	sub, err := s.cfg.Conn.Subscribe(bus.SubjectSegmenter, func(m *nats.Msg) {
		var b prepared.Beat
		if json.Unmarshal(m.Data, &b) != nil {
			return
		}
		if recipe := s.cfg.Segmenter.Recipe(); b.Recipe != recipe {
			if bus.MayAnswer(m.Reply) {
				_ = m.Respond([]byte(recipe)) // it ends, and says why
			}
			return
		}
		p.mu.Lock()
		defer p.mu.Unlock()
		state := p.known[b.ID]
		if state == nil {
			state = new(segmenterState)
			p.known[b.ID] = state
		}
		state.room, state.heard = prepared.Depth*b.Workers, time.Now()
		p.free.Broadcast()
	})
	if err != nil {
		return nil, fmt.Errorf("ingest: %w", err)
	}
	return func() { _ = sub.Unsubscribe() }, nil
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

// sendJob has a segmenter prepare a job, and does it here if that fails.
func (s *Service) sendJob(ctx context.Context, j *job, id string) error {
	failed := false
	if j.msg.Subject() == bus.SubjectPublish {
		reply, err := s.cfg.Conn.Request(bus.SubjectSegment+id, j.msg.Data(), itemPatience)
		if failed = err != nil; !failed {
			j.prepared = s.usable(reply.Data)
		}
	}
	s.segmenters.leave(id, failed)
	return s.prepareJob(context.WithoutCancel(ctx), j)
}

// usable decodes an article, if this process would have prepared the same; else nil.
func (s *Service) usable(b []byte) *index.Article {
	if len(b) == 0 {
		return nil // refused there
	}
	a, err := prepared.Decode(b)
	if err != nil {
		s.log.Warn("a segmenter's article cannot be read", "error", err)
		return nil
	}
	if a.Recipe != s.cfg.Segmenter.Recipe() {
		return nil
	}
	if s.cfg.DropTexts {
		a.Packed = nil
	}
	s.metrics.prepared.Inc()
	return a
}
