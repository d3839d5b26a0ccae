package index

import (
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"
)

type metrics struct {
	verdicts                           *prometheus.CounterVec
	unchanged, swept, asides           prometheus.Counter
	snapshot, sweep, outlines, reindex prometheus.Gauge
}

func newMetrics(x *Index) *metrics {
	auto := promauto.With(x.cfg.Metrics)
	counter := func(name, help string) prometheus.Counter {
		return auto.NewCounter(prometheus.CounterOpts{Name: "jianguo_index_" + name, Help: help})
	}
	gauge := func(name, help string) prometheus.Gauge {
		return auto.NewGauge(prometheus.GaugeOpts{Name: "jianguo_index_" + name, Help: help})
	}
	look := func(name, help string, f func() float64) {
		auto.NewGaugeFunc(prometheus.GaugeOpts{Name: "jianguo_index_" + name, Help: help}, f)
	}
	look("exemplars", "Exemplars with postings.", func() float64 { return float64(x.tables.Bands.Len()) })
	look("bands_bytes", "Resident bytes of the postings.",
		func() float64 { return float64(x.tables.Bands.Bytes()) })
	look("bands_skew", "Postings met in a band over what equal buckets would hold.",
		func() float64 { return x.tables.Bands.Skew() })
	look("applied_sequence", "Applied sequence of the item stream.",
		func() float64 { seq, _ := x.Applied(); return float64(seq) })
	look("events", "Number of the last event.", func() float64 { _, n := x.Applied(); return float64(n) })
	return &metrics{
		verdicts: auto.NewCounterVec(prometheus.CounterOpts{
			Name: "jianguo_index_verdicts_total", Help: "Verdicts given, by verdict, rule and cause.",
		}, []string{"verdict", "rule", "cause"}),
		unchanged: counter("unchanged_total", "Mutations that changed nothing: redelivered, older, or the same text."),
		snapshot:  gauge("snapshot_seconds", "How long the last snapshot took."),
		asides:    counter("aside_total", "Texts set aside because they met too many suspects in a minute."),
		swept:     counter("swept_total", "Exemplars whose postings were removed because their time was over."),
		reindex:   gauge("reindex_progress", "How far the last reindex has come, 0 to 1."),
		sweep:     gauge("sweep_progress", "How far the last sweep has come, 0 to 1."),
		outlines: gauge("outlines_progress", "How far the outlines of sketches have been read since a start, 0 to 1: "+
			"until then judging reads more from the file."),
	}
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
