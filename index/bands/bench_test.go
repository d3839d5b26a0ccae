package bands

import (
	"cmp"
	"fmt"
	"os"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"jianguo/cmd/jianguo-bench/synth"
	"jianguo/simhash"
)

// Sizes to measure at come from JIANGUO_BENCH_N (comma-separated; 100000 if
// unset): `JIANGUO_BENCH_N=1000000,10000000 go test -bench . -benchtime 1x`.
func benchSizes(b *testing.B) []int {
	var sizes []int
	for s := range strings.SplitSeq(cmp.Or(os.Getenv("JIANGUO_BENCH_N"), "100000"), ",") {
		n, err := strconv.Atoi(s)
		if err != nil {
			b.Fatalf("JIANGUO_BENCH_N: %v", err)
		}
		sizes = append(sizes, n)
	}
	return sizes
}

// BenchmarkSizes fills an index with N fingerprints and prints, in one run:
// inserts, both look-ups (p50, p99 in µs), their share of the hits of a full scan,
// bytes an item, snapshot and load, and a linear popcount scan for comparison.
func BenchmarkSizes(b *testing.B) {
	for _, n := range benchSizes(b) {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			for b.Loop() {
				measure(b, n)
			}
		})
	}
}

// BenchmarkLookups measures adding, look-ups, and the snapshot.
func BenchmarkLookups(b *testing.B) {
	for _, n := range benchSizes(b) {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			population := &synth.Population{Seed: 1}
			postings := New(Config{})
			start := time.Now()
			for i := range n {
				postings.Add(population.Fingerprint(uint64(i)), uint32(i))
			}
			took := time.Since(start)
			prints := queries(population, n)
			for b.Loop() {
				lookups(b, postings, prints)
			}
			// The loop clears metrics that were reported before it.
			b.ReportMetric(took.Seconds(), "build_s")
			report(b, postings, n)
			copies(b, postings, population, prints, n)
			pages := stored{}
			start = time.Now()
			pages.save(postings)
			b.ReportMetric(time.Since(start).Seconds(), "snapshot_s")
			b.ReportMetric(float64(pages.size())/float64(n), "snapshot_B/item")
		})
	}
}

// copies reports the share of the edited copies within S that find their original.
func copies(b *testing.B, postings *Bands, population *synth.Population, prints []simhash.Print, n int) {
	for _, probes := range benchProbes {
		asked, found := 0, 0
		for i := range prints {
			of := original(i, n)
			h := Hit{population.Fingerprint(of), uint32(of)}
			if prints[i].S(h.Fingerprint) >= benchMaxS {
				continue
			}
			asked++
			if slices.Contains(postings.reached(nil, &prints[i], benchMaxS, probes), h) {
				found++
			}
		}
		b.ReportMetric(float64(found)/float64(asked), fmt.Sprintf("copies_found%d", probes))
	}
}

// queries returns edited copies of indexed items, with few to many edits.
func queries(population *synth.Population, n int) []simhash.Print {
	prints := make([]simhash.Print, benchQueries)
	changes := []float64{0.02, 0.05, 0.1, 0.2}
	for i := range prints {
		prints[i] = population.Copy(original(i, n), 1, changes[i%len(changes)])
	}
	return prints
}

// original returns the item that query i is a copy of.
func original(i, n int) uint64 { return uint64(i) * uint64(n) / benchQueries }

const (
	benchQueries = 4000
	benchScans   = 24
	benchShares  = 400 // queries whose margin look-up is compared with a full scan
	benchMaxS    = 5
)

var benchProbes = []int{64, 256, 320, 512}

func measure(b *testing.B, n int) {
	population := &synth.Population{Seed: 1}
	postings := New(Config{})
	// For the scans, and to draw queries from.
	all := make([]simhash.Fingerprint, n)
	for i := range all {
		all[i] = population.Fingerprint(uint64(i))
	}
	start := time.Now()
	slowest := time.Duration(0)
	for i, fp := range all {
		if i%64 == 0 && i > n/2 {
			at := time.Now()
			postings.Add(fp, uint32(i))
			slowest = max(slowest, time.Since(at))
			continue
		}
		postings.Add(fp, uint32(i))
	}
	b.ReportMetric(float64(n)/time.Since(start).Seconds(), "inserts/s")
	b.ReportMetric(float64(slowest.Microseconds()), "slowest_insert_µs")
	report(b, postings, n)

	prints := queries(population, n)
	lookups(b, postings, prints)
	copies(b, postings, population, prints, n)
	scans(b, postings, all, prints)
	reload(b, postings, n)
}

func report(b *testing.B, postings *Bands, n int) {
	s := postings.Stats()
	b.ReportMetric(float64(s.Bytes)/float64(n), "B/item")
	b.ReportMetric(s.Skew, "skew")
}

func lookups(b *testing.B, postings *Bands, prints []simhash.Print) {
	var hits []Hit
	quantiles(b, "hamming", len(prints), func(i int) {
		hits = postings.Hamming(hits[:0], prints[i].Fingerprint, 3)
	})
	for _, probes := range benchProbes {
		quantiles(b, fmt.Sprintf("margin%d", probes), len(prints), func(i int) {
			hits = postings.reached(hits[:0], &prints[i], benchMaxS, probes)
		})
	}
}

// scans measures the linear scan, and compares the hits of margin with its hits.
func scans(b *testing.B, postings *Bands, all []simhash.Fingerprint, prints []simhash.Print) {
	near := 0
	quantiles(b, "scan", benchScans, func(i int) {
		for _, c := range all {
			if simhash.Distance(prints[i].Fingerprint, c) <= 3 {
				near++
			}
		}
	})
	if near < 0 {
		b.Fatal("unreachable, and keeps the scan from being optimised away")
	}
	// The mean is over queries, not pairs: a query in a family has far more pairs.
	asked, share := 0.0, map[int]float64{}
	for i := 0; i < len(prints); i += len(prints)/benchShares + 1 {
		p := &prints[i]
		want := marginScan(all, p, benchMaxS)
		if want == 0 {
			continue
		}
		asked++
		for _, probes := range benchProbes {
			share[probes] += float64(len(postings.reached(nil, p, benchMaxS, probes))) / float64(want)
		}
	}
	for probes, s := range share {
		b.ReportMetric(s/asked, fmt.Sprintf("found%d", probes))
	}
}

func marginScan(all []simhash.Fingerprint, p *simhash.Print, maxS float32) int {
	// A fingerprint that differs in many strong bits needs no sum.
	var strong simhash.Fingerprint
	for bit, m := range p.Margins {
		if m*m >= 0.5 {
			strong |= 1 << bit
		}
	}
	n := 0
	for _, c := range all {
		if x := (p.Fingerprint ^ c) & strong; simhash.Distance(x, 0) <= int(maxS*2) && p.S(c) < maxS {
			n++
		}
	}
	return n
}

func reload(b *testing.B, postings *Bands, n int) {
	pages := stored{}
	start := time.Now()
	pages.save(postings)
	b.ReportMetric(time.Since(start).Seconds(), "snapshot_s")
	b.ReportMetric(float64(pages.size())/float64(n), "snapshot_B/item")
	runtime.GC()

	start = time.Now()
	loaded := pages.load(b)
	b.ReportMetric(time.Since(start).Seconds(), "load_s")
	if loaded.Len() != n {
		b.Fatalf("%d of %d loaded", loaded.Len(), n)
	}
	b.ReportMetric(float64(loaded.Stats().Bytes)/float64(n), "loaded_B/item")
}

func (s stored) size() (n int) {
	for _, page := range s {
		n += len(page)
	}
	return n
}

// quantiles calls f n times and reports its median and 99th percentile.
func quantiles(b *testing.B, name string, n int, f func(i int)) {
	took := make([]time.Duration, n)
	for i := range took {
		at := time.Now()
		f(i)
		took[i] = time.Since(at)
	}
	slices.Sort(took)
	µs := func(d time.Duration) float64 { return float64(d.Nanoseconds()) / 1000 }
	b.ReportMetric(µs(took[n/2]), name+"_p50_µs")
	b.ReportMetric(µs(took[n*99/100]), name+"_p99_µs")
}
