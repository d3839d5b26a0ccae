package exposure

import (
	"sync/atomic"

	"github.com/prometheus/client_golang/prometheus"
)

// metrics are the store's own. Its owner registers Collectors.
type metrics struct {
	requests, candidates, inExact, inShards prometheus.Counter
	degraded, hits, misses, dead, corrupt   prometheus.Counter
	lost                                    prometheus.Counter
	flushedUsers, flushedBytes, swept       prometheus.Counter
	fprTests, fprPositives, fprExpected     prometheus.Counter
	looks                                   atomic.Uint64 // at views
	flushes, stateBytes                     prometheus.Histogram
	events                                  *prometheus.CounterVec
}

func newMetrics(kinds []string) *metrics {
	counter := func(name, help string) prometheus.Counter {
		return prometheus.NewCounter(prometheus.CounterOpts{Namespace: "jianguo", Subsystem: "exposure", Name: name, Help: help})
	}
	m := &metrics{
		requests:     counter("filter_requests_total", "Filter requests answered."),
		candidates:   counter("filter_candidates_total", "Ids asked about."),
		inExact:      counter("filter_dropped_exact_total", "Ids found in a tail or ring."),
		inShards:     counter("filter_dropped_shards_total", "Ids found in a shard."),
		degraded:     counter("filter_degraded_total", "Filter requests answered without the user's state."),
		hits:         counter("cache_hits_total", "Requests whose user was in memory."),
		misses:       counter("cache_misses_total", "Requests whose user was read from the file."),
		dead:         counter("events_refused_total", "Log entries that can never be applied."),
		lost:         counter("events_lost_total", "Events that left the log before they were applied."),
		corrupt:      counter("states_quarantined_total", "Rows that could not be read and were set aside."),
		flushedUsers: counter("flushed_users_total", "User rows written."),
		flushedBytes: counter("flushed_bytes_total", "Bytes of heads and shards written."),
		swept:        counter("swept_users_total", "Users removed or shrunk because what they held had expired."),
		fprTests:     counter("fpr_tests_total", "Random keys tested against live states."),
		fprPositives: counter("fpr_positives_total", "Of those, found: positives / tests is the measured false-positive rate."),
		fprExpected:  counter("fpr_expected_total", "Of those, expected by theory for the shards as full as they were."),
		flushes: prometheus.NewHistogram(prometheus.HistogramOpts{Namespace: "jianguo", Subsystem: "exposure",
			Name: "flush_seconds", Help: "Duration of a flush.", Buckets: prometheus.ExponentialBuckets(0.001, 2, 16)}),
		stateBytes: prometheus.NewHistogram(prometheus.HistogramOpts{Namespace: "jianguo", Subsystem: "exposure",
			Name: "head_bytes", Help: "Size of the heads written: tail, ring and directory of a user.",
			Buckets: prometheus.ExponentialBuckets(32, 2, 9)}),
		events: prometheus.NewCounterVec(prometheus.CounterOpts{Namespace: "jianguo", Subsystem: "exposure",
			Name: "events_total", Help: "Events applied, by kind."}, []string{"kind"}),
	}
	for _, act := range acts {
		kinds = append(kinds, string(act))
	}
	for _, kind := range kinds {
		m.events.WithLabelValues(kind)
	}
	return m
}
