package api

import "github.com/prometheus/client_golang/prometheus"

// metrics are the HTTP side's own; cmd registers them.
type metrics struct {
	requests *prometheus.CounterVec
	seconds  *prometheus.HistogramVec
	services *prometheus.CounterVec
	closed   *prometheus.CounterVec
}

func newMetrics() *metrics {
	m := &metrics{
		requests: prometheus.NewCounterVec(prometheus.CounterOpts{Name: "jianguo_http_requests_total", Help: "Requests answered."}, []string{"method", "route", "code"}),
		seconds: prometheus.NewHistogramVec(prometheus.HistogramOpts{Name: "jianguo_http_seconds",
			Help: "From a request's headers to the end of its answer.", Buckets: prometheus.ExponentialBuckets(0.00025, 2, 18)}, []string{"route"}),
		services: prometheus.NewCounterVec(prometheus.CounterOpts{Name: "jianguo_service_requests_total", Help: "Requests on the bus answered."}, []string{"subject", "code"}),
		closed: prometheus.NewCounterVec(prometheus.CounterOpts{Name: "jianguo_http_connections_closed_total",
			Help: "Connections closed at their bound: old ones that gave way, and new ones."}, []string{"which"}),
	}
	for _, which := range []string{"old", "new"} {
		m.closed.WithLabelValues(which)
	}
	return m
}

func (m *metrics) collectors() []prometheus.Collector {
	return []prometheus.Collector{m.requests, m.seconds, m.services, m.closed}
}
