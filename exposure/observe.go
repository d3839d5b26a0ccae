package exposure

import (
	"context"
	"math/rand/v2"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// Collectors are the store's metrics, for the caller to register.
func (s *Store) Collectors() []prometheus.Collector {
	m := s.metrics
	gauge := func(name, help string, f func() float64) prometheus.Collector {
		return prometheus.NewGaugeFunc(prometheus.GaugeOpts{Namespace: "jianguo", Subsystem: "exposure", Name: name, Help: help}, f)
	}
	return []prometheus.Collector{
		m.requests, m.candidates, m.inExact, m.inShards, m.degraded, m.hits, m.misses, m.dead, m.corrupt, m.lost,
		m.flushedUsers, m.flushedBytes, m.swept, m.fprTests, m.fprPositives, m.fprExpected,
		m.flushes, m.stateBytes, m.eventsVec,
		gauge("unflushed_keys", "Keys of events applied that are not in the file yet.", func() float64 { return float64(s.w.unflushed.Load()) }),
		gauge("unflushed_age_seconds", "Age of the oldest of them.", func() float64 {
			if t := s.w.oldest.Load(); t != 0 {
				return time.Since(time.Unix(0, t)).Seconds()
			}
			return 0
		}),
		gauge("consumer_lag_events", "Events logged that are not applied yet; -1 when the log does not answer.", s.lag),
		gauge("cached_users", "Users in memory.", func() float64 { n, _ := s.cache.Load().size(); return float64(n) }),
		gauge("cached_bytes", "Memory they take.", func() float64 { _, b := s.cache.Load().size(); return float64(b) }),
		gauge("ready", "1 when the log has been replayed and nothing has failed.", func() float64 {
			if s.Ready() {
				return 1
			}
			return 0
		}),
	}
}

func (s *Store) lag() float64 {
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	log, err := s.cfg.Log.State(ctx)
	if err != nil {
		return -1
	}
	return max(0, float64(log.Last)-float64(s.w.applied.Load()))
}

// rateLoop measures the false-positive rate: each second it tests random keys, which were
// almost certainly never seen, against the state of one user.
func (s *Store) rateLoop(ctx context.Context) {
	tick := time.NewTicker(time.Second)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
			s.measureRate(512)
		}
	}
}

// measureRate tests n random keys against one state that has a view: in the first stripe,
// from a random one on, where it finds such a state.
func (s *Store) measureRate(n int) {
	from := rand.N(len(cache{}))
	c := s.cache.Load()
	for i := range c {
		if s.measureIn(&c[(from+i)%len(c)], n) {
			return
		}
	}
}

// measureIn tests n random keys against a random state of a stripe, if it has a view.
func (s *Store) measureIn(g *stripe, n int) bool {
	var e *entry
	g.mu.Lock()
	for _, e = range g.entries { // map order is random enough
		break
	}
	if e != nil {
		e.refs++
	}
	g.mu.Unlock()
	if e == nil {
		return false
	}
	defer g.release(e, -1, true)
	e.mu.RLock()
	defer e.mu.RUnlock()
	now := s.cfg.Clock().In(s.cfg.Location)
	if e.st == nil || e.st.view == nil || now.Unix() >= e.st.view.until {
		return false
	}
	for range n {
		if e.st.view.Lanes.Rank(rand.Uint32()) >= 0 {
			s.metrics.fprPositives.Inc()
		}
	}
	s.metrics.fprTests.Add(float64(n))
	s.metrics.fprExpected.Add(float64(n) * e.st.rate(e.pol, now))
	return true
}
