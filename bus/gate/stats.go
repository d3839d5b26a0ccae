package gate

import "github.com/prometheus/client_golang/prometheus"

// stats are a gate's metrics.
type stats struct {
	stored, refused prometheus.Counter
	commit          prometheus.Histogram
	all             []prometheus.Collector
}

func newStats(stream string) stats {
	messages := prometheus.NewCounterVec(prometheus.CounterOpts{Name: "jianguo_bus_gate_messages_total",
		Help:        "Messages at the gate of a stream: stored, or refused by the gate itself because the disk has no room, a sync failed or the bus is overrun.",
		ConstLabels: prometheus.Labels{"stream": stream}}, []string{"how"})
	commit := prometheus.NewHistogram(prometheus.HistogramOpts{Name: "jianguo_bus_gate_commit_seconds",
		Help: "What it took to sync the files of a stream; its count is the number of syncs.", ConstLabels: prometheus.Labels{"stream": stream}, Buckets: prometheus.ExponentialBuckets(0.0001, 2, 16)})
	return stats{stored: messages.WithLabelValues("stored"), refused: messages.WithLabelValues("refused"), commit: commit, all: []prometheus.Collector{messages, commit}}
}
