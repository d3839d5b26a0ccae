package main

import (
	"github.com/prometheus/client_golang/prometheus"

	"jianguo/internal/disk"
)

// freeSpace is a metric.
func freeSpace(d disk.Disk) prometheus.Collector {
	return prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: "jianguo_disk_free_bytes", Help: "Free where the data directory is."}, func() float64 {
		free, err := d.Free()
		if err != nil {
			return -1
		}
		return float64(free)
	})
}

// buildInfo is a metric with the version, recipe and policy of this service.
func buildInfo(recipe func() string, policy string) prometheus.Collector {
	d := prometheus.NewDesc("jianguo_build_info", "1, with version, recipe and policy as labels.", []string{"recipe"}, prometheus.Labels{"version": version, "policy": policy})
	return prometheus.CollectorFunc(func(to chan<- prometheus.Metric) {
		to <- prometheus.MustNewConstMetric(d, prometheus.GaugeValue, 1, recipe())
	})
}
