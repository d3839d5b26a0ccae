package gate

import "github.com/prometheus/client_golang/prometheus"

// stats are a gate's metrics.
type stats struct {
	single, batched, alone, refused prometheus.Counter
	commit                          prometheus.Histogram
	all                             []prometheus.Collector
}

func newStats(stream string) stats {
	messages := prometheus.NewCounterVec(prometheus.CounterOpts{Name: "jianguo_bus_gate_messages_total",
		Help:        "Messages that passed the gate of a stream: stored singly, in a batch, passed on with headers of the server's own, or refused because too many waited.",
		ConstLabels: prometheus.Labels{"stream": stream}}, []string{"how"})
	commit := prometheus.NewHistogram(prometheus.HistogramOpts{Name: "jianguo_bus_gate_commit_seconds",
		Help: "From a group going to the stream to its being durable.", ConstLabels: prometheus.Labels{"stream": stream}, Buckets: prometheus.ExponentialBuckets(0.0001, 2, 16)})
	return stats{single: messages.WithLabelValues("single"), batched: messages.WithLabelValues("batch"), alone: messages.WithLabelValues("passed"),
		refused: messages.WithLabelValues("refused"), commit: commit, all: []prometheus.Collector{messages, commit}}
}

// Collectors returns the gate's metrics, to be registered once.
func (g *Gate) Collectors() []prometheus.Collector { return g.stats.all }
