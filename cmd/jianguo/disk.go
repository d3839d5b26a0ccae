package main

import (
	"fmt"

	"github.com/prometheus/client_golang/prometheus"
	"golang.org/x/sys/unix"
)

// disk watches the free space of the data directory's disk. HTTP refuses writes while
// less than the reserve is free: on a full disk a request would wait for an answer that
// cannot come. The embedded bus has a check of its own.
type disk struct {
	dir     string
	reserve uint64 // bytes
}

// free returns the bytes that an unprivileged process can use.
func (d disk) free() (uint64, error) {
	var s unix.Statfs_t
	if err := unix.Statfs(d.dir, &s); err != nil {
		return 0, fmt.Errorf("disk: %s: %w", d.dir, err)
	}
	return s.Bavail * uint64(s.Bsize), nil
}

// hasSpace returns an error while less than the reserve is free.
func (d disk) hasSpace() error {
	free, err := d.free()
	if err != nil || free >= d.reserve {
		return err
	}
	return fmt.Errorf("disk: %d MiB are free where the data directory is, and the reserve is %d MiB: make room", free>>20, d.reserve>>20)
}

func (d disk) collectors() []prometheus.Collector {
	return []prometheus.Collector{prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: "jianguo_disk_free_bytes", Help: "Free where the data directory is."}, func() float64 {
		free, err := d.free()
		if err != nil {
			return -1
		}
		return float64(free)
	})}
}

// buildInfo is a metric with the version, recipe and policy of this service.
func buildInfo(recipe, policy string) prometheus.Collector {
	return prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: "jianguo_build_info", Help: "1, with version, recipe and policy as labels.",
		ConstLabels: prometheus.Labels{"version": version, "recipe": recipe, "policy": policy}}, func() float64 { return 1 })
}
