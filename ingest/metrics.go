package ingest

import "github.com/prometheus/client_golang/prometheus"

// metrics are the ingest path's own; cmd registers them.
type metrics struct {
	latency  prometheus.Histogram
	batch    prometheus.Histogram
	stage    *prometheus.HistogramVec
	dead     prometheus.Counter
	retries  prometheus.Counter
	pending  prometheus.Gauge
	foreign  prometheus.Counter
	prepared prometheus.Counter
}

func newMetrics() *metrics {
	return &metrics{
		latency: prometheus.NewHistogram(prometheus.HistogramOpts{Name: "jianguo_ingest_latency_seconds",
			Help: "From the bus taking an item to its verdict being durable.", Buckets: prometheus.ExponentialBuckets(0.001, 2, 16)}),
		batch: prometheus.NewHistogram(prometheus.HistogramOpts{Name: "jianguo_ingest_batch_items",
			Help: "Messages in one transaction.", Buckets: prometheus.ExponentialBuckets(1, 2, 10)}),
		stage: prometheus.NewHistogramVec(prometheus.HistogramOpts{Name: "jianguo_ingest_stage_seconds",
			Help: "Time a message spends being prepared, a batch being applied.", Buckets: prometheus.ExponentialBuckets(0.0001, 2, 16)}, []string{"stage"}),
		dead:    prometheus.NewCounter(prometheus.CounterOpts{Name: "jianguo_ingest_dead_letters_total", Help: "Messages refused."}),
		retries: prometheus.NewCounter(prometheus.CounterOpts{Name: "jianguo_ingest_retries_total", Help: "Batches that could not be written at first."}),
		foreign: prometheus.NewCounter(prometheus.CounterOpts{Name: "jianguo_ingest_foreign_messages_total",
			Help: "Messages in VERDICTS that are no events: a client published them, or named a subject of events for an answer."}),
		prepared: prometheus.NewCounter(prometheus.CounterOpts{Name: "jianguo_ingest_segmenter_items_total", Help: "Items that segmenters of other processes have prepared."}),
		pending:  prometheus.NewGauge(prometheus.GaugeOpts{Name: "jianguo_ingest_pending_messages", Help: "Messages on the bus behind the last batch."}),
	}
}
