package exposure

import (
	"context"
	"math/rand/v2"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"

	"jianguo/exposure/state"
)

func (s *Store) Collectors() []prometheus.Collector {
	gauge := func(name, help string, f func() float64) prometheus.Collector {
		return prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: "jianguo_exposure_" + name, Help: help}, f)
	}
	one := map[bool]float64{true: 1}
	return []prometheus.Collector{
		s.metrics.all,
		gauge("unflushed_keys", "Keys of events applied that are not in the file yet.",
			func() float64 { return float64(s.w.unflushed.Load()) }),
		gauge("unflushed_age_seconds", "Age of the oldest of them.", func() float64 {
			if t := s.w.oldest.Load(); t != nil {
				return time.Since(*t).Seconds()
			}
			return 0
		}),
		gauge("consumer_lag_events", "Events logged that are not applied yet; -1 when the log does not answer.", s.lag),
		gauge("owned_partitions", "Partitions of users whose reports this service applies; 0 without a shared store.",
			func() float64 {
				if s.fleet == nil {
					return 0
				}
				return float64(s.fleet.Owners.Owned.Load())
			}),
		gauge("store_evicts", "1 when the Redis of a shared store drops histories once it is full.",
			func() float64 { return one[s.fleet != nil && s.fleet.evicts.Load() != ""] }),
		gauge("cached_users", "Users in memory.", func() float64 { n, _ := s.cache.Load().size(); return float64(n) }),
		gauge("cached_bytes", "Memory they take.", func() float64 { _, b := s.cache.Load().size(); return float64(b) }),
		gauge("story_items", "Items of stories of two or more, in memory.", func() float64 {
			if s.cfg.Stories == nil {
				return 0
			}
			return float64(s.cfg.Stories.Len())
		}),
		gauge("ready", "1 when the log has been replayed and nothing has failed.",
			func() float64 { return one[s.Ready()] }),
	}
}

// lag is how many events wait, with a fleet in the partitions of this service.
func (s *Store) lag() float64 {
	if s.fleet != nil {
		var n int64
		for p := range s.fleet.pending {
			n += s.fleet.pending[p].Load()
		}
		return float64(n)
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	log, err := s.cfg.Log.State(ctx)
	if err != nil {
		return -1
	}
	return max(0, float64(log.Last)-float64(s.w.applied.Seq()))
}

// rateEvery is how many uses of a view there are for one that measures the false-positive rate.
const rateEvery = 256

// measureRate tests random keys, which were almost certainly never seen, against a view.
func (m *metrics) measureRate(v *state.View) {
	const n = 512
	for range n {
		if v.Lanes.Rank(rand.Uint32()) >= 0 {
			m.fprPositives.Inc()
		}
	}
	m.fprTests.Add(n)
	m.fprExpected.Add(n * v.Rate)
}

// marked counts a use of a state: whether it had to be read, and ids that it holds.
func (m *metrics) marked(fetched bool, exact, inShards int) {
	if m.inExact.Add(float64(exact)); fetched {
		m.misses.Inc()
	} else {
		m.hits.Inc()
	}
	m.inShards.Add(float64(inShards))
}

// metrics are the store's own. Its owner registers Collectors.
type metrics struct {
	requests, candidates, inExact, inShards prometheus.Counter
	degraded, hits, misses, dead, corrupt   prometheus.Counter
	lost                                    prometheus.Counter
	flushedUsers, flushedBytes, swept       prometheus.Counter
	fprTests, fprPositives, fprExpected     prometheus.Counter
	viewsUsed                               atomic.Uint64
	flushes, stateBytes                     prometheus.Histogram
	events                                  *prometheus.CounterVec
	all                                     *prometheus.Registry // of the above
}

func newMetrics(kinds []string) *metrics {
	all := prometheus.NewRegistry()
	auto := promauto.With(all)
	counter := func(name, help string) prometheus.Counter {
		return auto.NewCounter(prometheus.CounterOpts{Name: "jianguo_exposure_" + name, Help: help})
	}
	m := &metrics{
		all:          all,
		requests:     counter("filter_requests_total", "Filter requests answered."),
		candidates:   counter("filter_candidates_total", "Ids asked about."),
		inExact:      counter("filter_dropped_exact_total", "Ids found in a tail or ring."),
		inShards:     counter("filter_dropped_shards_total", "Ids found in a shard."),
		degraded:     counter("filter_degraded_total", "Filter requests answered without the user's state."),
		hits:         counter("cache_hits_total", "Requests whose user was in memory."),
		misses:       counter("cache_misses_total", "Requests whose user was read from the file, or the Redis."),
		dead:         counter("events_refused_total", "Log entries that can never be applied."),
		lost:         counter("events_lost_total", "Events that left the log before they were applied."),
		corrupt:      counter("states_quarantined_total", "Rows that could not be read and were set aside."),
		flushedUsers: counter("flushed_users_total", "User rows written."),
		flushedBytes: counter("flushed_bytes_total", "Bytes of heads and shards written."),
		swept:        counter("swept_users_total", "Users removed or shrunk because what they held had expired."),
		fprTests:     counter("fpr_tests_total", "Random keys tested against live states."),
		fprPositives: counter("fpr_positives_total", "Of those, found: divided by tests, the measured rate."),
		fprExpected:  counter("fpr_expected_total", "Of those, expected for shards as full as they were."),
		flushes: auto.NewHistogram(prometheus.HistogramOpts{Name: "jianguo_exposure_flush_seconds",
			Help: "Duration of a flush.", Buckets: prometheus.ExponentialBuckets(0.001, 2, 16)}),
		stateBytes: auto.NewHistogram(prometheus.HistogramOpts{Name: "jianguo_exposure_head_bytes",
			Help:    "Size of the heads written: tail, ring and directory of a user.",
			Buckets: prometheus.ExponentialBuckets(32, 2, 9)}),
		events: auto.NewCounterVec(prometheus.CounterOpts{Name: "jianguo_exposure_events_total",
			Help: "Events applied, by kind."}, []string{"kind"}),
	}
	for _, act := range state.Acts {
		kinds = append(kinds, string(act))
	}
	for _, kind := range kinds {
		m.events.WithLabelValues(kind)
	}
	return m
}
