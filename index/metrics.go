package index

import "github.com/prometheus/client_golang/prometheus"

// metrics are the metrics of the index; cmd registers them.
type metrics struct {
	verdicts  *prometheus.CounterVec
	unchanged prometheus.Counter
	snapshot  prometheus.Gauge
	swept     prometheus.Counter
	sweep     prometheus.Gauge
	outlines  prometheus.Gauge
	asides    prometheus.Counter
	all       []prometheus.Collector
}

func newMetrics() *metrics {
	m := &metrics{
		verdicts: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "jianguo_index_verdicts_total", Help: "Verdicts given, by verdict, rule and cause.",
		}, []string{"verdict", "rule", "cause"}),
		unchanged: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "jianguo_index_unchanged_total",
			Help: "Mutations that changed nothing: redelivered, older, or the same text.",
		}),
	}
	m.snapshot = prometheus.NewGauge(prometheus.GaugeOpts{Name: "jianguo_index_snapshot_seconds",
		Help: "How long the last snapshot took."})
	m.asides = prometheus.NewCounter(prometheus.CounterOpts{Name: "jianguo_index_aside_total",
		Help: "Texts that were set aside because they met too many suspects in a minute."})
	m.swept = prometheus.NewCounter(prometheus.CounterOpts{Name: "jianguo_index_swept_total",
		Help: "Exemplars whose postings were removed because their time was over."})
	m.sweep = prometheus.NewGauge(prometheus.GaugeOpts{Name: "jianguo_index_sweep_progress",
		Help: "How far the last sweep has come, 0 to 1."})
	m.outlines = prometheus.NewGauge(prometheus.GaugeOpts{Name: "jianguo_index_outlines_progress",
		Help: "How far the outlines of sketches have been read since the start, 0 to 1: " +
			"until then judging reads more from the file."})
	m.all = []prometheus.Collector{m.asides, m.swept, m.sweep, m.outlines, m.verdicts, m.unchanged, m.snapshot}
	return m
}

func (m *metrics) observe(outcomes []Outcome) {
	for i := range outcomes {
		if o := &outcomes[i]; o.Changed {
			m.verdicts.WithLabelValues(o.Event.Verdict.String(), o.Event.Rule.String(), o.Event.Cause.String()).Inc()
		} else {
			m.unchanged.Inc()
		}
	}
}
