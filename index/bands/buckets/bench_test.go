package buckets

import (
	"cmp"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
)

// BenchmarkSizes adds N hashes, looks up half of them and as many absent ones, and loads
// all of them from pages. The sizes N come from JIANGUO_BENCH_N (comma-separated; 100000
// if unset).
func BenchmarkSizes(b *testing.B) {
	for s := range strings.SplitSeq(cmp.Or(os.Getenv("JIANGUO_BENCH_N"), "100000"), ",") {
		n, err := strconv.Atoi(s)
		if err != nil {
			b.Fatalf("JIANGUO_BENCH_N: %v", err)
		}
		b.Run(s, func(b *testing.B) {
			for b.Loop() {
				measure(b, n)
			}
		})
	}
}

func hash(i int) uint64 {
	x := uint64(i+1) * 0x9e3779b97f4a7c15
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	return x ^ x>>31
}

func measure(b *testing.B, n int) {
	r := New(true)
	start := time.Now()
	for i := range n {
		r.Put(hash(i), uint32(i))
	}
	b.ReportMetric(float64(n)/time.Since(start).Seconds(), "puts/s")
	b.ReportMetric(float64(r.Bytes())/float64(n), "B/entry")

	const asked = 20000
	took := make([]time.Duration, asked)
	var values []uint32
	for i := range took {
		key := hash(i * (n / asked) * (1 + i%2))
		at := time.Now()
		values = r.Get(values[:0], key)
		took[i] = time.Since(at)
	}
	slices.Sort(took)
	b.ReportMetric(float64(took[asked/2].Nanoseconds()), "get_p50_ns")
	b.ReportMetric(float64(took[asked*99/100].Nanoseconds()), "get_p99_ns")

	pages := map[int][]byte{}
	size := 0
	err := r.Snapshot(func(id int, page []byte) error {
		pages[id] = slices.Clone(page)
		size += len(page)
		return nil
	})
	if err != nil {
		b.Fatal(err)
	}
	b.ReportMetric(float64(size)/float64(n), "snapshot_B/entry")
	start = time.Now()
	loaded := New(true)
	for id, page := range pages {
		if err := loaded.LoadPage(id, page); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(time.Since(start).Seconds(), "load_s")
	if loaded.Len() != n {
		b.Fatal(fmt.Errorf("%d of %d loaded", loaded.Len(), n))
	}
}
