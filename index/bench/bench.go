// Package bench measures an index of any size, on disk and durable, as an
// ingest would build it: inserts, look-ups, verdicts, bytes and start-up, with
// a linear scan and the same bands as SQLite rows beside them in the same run.
//
// Items are synthetic (package synth): random fingerprints, or real ones
// perturbed, 1 % of them in families of near-duplicates by the thousand. Their
// sketches are of random text, family members of one text with other figures.
// Numbers are of one machine at one time: compare within a run.
package bench

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"time"

	"jianguo/index"
	"jianguo/index/bands/synth"
	"jianguo/simhash"
	"jianguo/sketch"
)

// Options say what to run. N is required.
type Options struct {
	N        uint64
	Real     []simhash.Fingerprint // to perturb; nil: random
	Dir      string                // for the files; empty: a temporary directory, removed at the end
	Batch    int                   // items a transaction; 0: 256
	Queries  int                   // look-ups of each kind; 0: 2,000
	Rows     int                   // items of the SQLite-rows baseline, at most; 0: 2,000,000
	Seed     uint64
	Progress func(stage string, done, total int64)
}

// Result is one run. Latencies are microseconds.
type Result struct {
	N                 uint64  `json:"n"`
	InsertsPerSecond  float64 `json:"inserts_per_second"`
	InsertsFirstTenth float64 `json:"inserts_per_second_first_tenth"`
	InsertsLastTenth  float64 `json:"inserts_per_second_last_tenth"`

	HammingP50  float64 `json:"hamming_p50_us"`
	HammingP99  float64 `json:"hamming_p99_us"`
	HammingP999 float64 `json:"hamming_p999_us"`
	MarginP50   float64 `json:"margin_p50_us"`
	MarginP99   float64 `json:"margin_p99_us"`
	MarginP999  float64 `json:"margin_p999_us"`
	// MarginFound is the share of copies of indexed items, at S < ScanS, that
	// are found; MarginFoundAll that of everything a scan finds, strangers too.
	MarginFound    float64 `json:"margin_found"`
	MarginFoundAll float64 `json:"margin_found_all"`
	ScanS          float64 `json:"scan_s"`
	VerdictP50     float64 `json:"verdict_p50_us"`
	VerdictP99     float64 `json:"verdict_p99_us"`
	VerdictP999    float64 `json:"verdict_p999_us"`
	Judged         float64 `json:"judged_per_item"` // proposals, mean
	JudgedMost     int     `json:"judged_most"`

	BandsBytes    float64 `json:"bands_bytes_per_item"`    // resident, the four bands
	ResidentBytes float64 `json:"resident_bytes_per_item"` // resident, everything of ours
	DiskBytes     float64 `json:"disk_bytes_per_item"`     // catalogue and snapshot, no kept texts
	StartSeconds  float64 `json:"start_seconds"`

	ScanP50 float64 `json:"scan_p50_us"` // linear popcount scan
	RowsP50 float64 `json:"rows_p50_us"` // the same bands as SQLite rows
	RowsN   int     `json:"rows_n"`
	Rows    float64 `json:"rows_inserts_per_second"`

	// Curve is inserts a second against size.
	Curve []Point `json:"curve"`
}

// Point is a rate at a size.
type Point struct {
	N    uint64  `json:"n"`
	Rate float64 `json:"inserts_per_second"`
}

// run is one measurement under way.
type run struct {
	Options
	p   synth.Population
	x   *index.Index
	res Result
	r   *rand.Rand

	near int // what scans found, so that no compiler leaves them out
}

// Run builds an index of o.N items and measures it.
func Run(ctx context.Context, o Options) (_ *Result, err error) {
	if o.N == 0 {
		return nil, errors.New("bench: how many items? N is 0")
	}
	if o.Batch == 0 {
		o.Batch = 256
	}
	if o.Queries == 0 {
		o.Queries = 2000
	}
	if o.Rows == 0 {
		o.Rows = 2_000_000
	}
	if o.Progress == nil {
		o.Progress = func(string, int64, int64) {}
	}
	if o.Dir == "" {
		if o.Dir, err = os.MkdirTemp("", "jianguo-bench-"); err != nil {
			return nil, err
		}
		defer func() { err = errors.Join(err, os.RemoveAll(o.Dir)) }()
	}
	b := &run{Options: o, p: synth.Population{Real: o.Real, Seed: o.Seed}, r: rand.New(rand.NewPCG(o.Seed, 7)), res: Result{N: o.N}}
	for _, step := range []func(context.Context) error{b.build, b.restart, b.lookups, b.verdicts, b.sizes, b.scan, b.rows} {
		if err := step(ctx); err != nil {
			if b.x != nil {
				err = errors.Join(err, b.x.Close())
			}
			return nil, fmt.Errorf("bench: %w", err)
		}
	}
	return &b.res, b.x.Close()
}

func (b *run) open(ctx context.Context) (err error) {
	b.x, err = index.Open(ctx, index.Config{Dir: b.Dir, Progress: b.Progress})
	return err
}

// article is item i as ingest would hand it over. Verdicts are the index's
// business: a copy is a copy here too.
func (b *run) article(i uint64, p simhash.Print) *index.Article {
	a := &index.Article{ID: fmt.Sprintf("item-%012d", i), Print: p}
	r := rand.New(rand.NewPCG(b.Seed+1, i))
	figures := r
	if f, ok := b.p.Family(i); ok {
		r = rand.New(rand.NewPCG(b.Seed+2, f))
	}
	a.Sketch = sketch.Make(sketch.Input{Body: text(r, figures)})
	for k := range a.Exact {
		a.Exact[k] = byte(figures.Uint32())
	}
	return a
}

// text is 230 random characters with six figures in it: as long as a text that
// its fingerprint serves, and as short as one that is quick to sketch.
func text(r, figures *rand.Rand) string {
	out := make([]byte, 0, 1024)
	for i := range 230 {
		out = append(out, string(rune(0x4e00+r.IntN(3000)))...)
		if i%40 == 20 {
			out = fmt.Appendf(out, "%d", figures.IntN(100000))
		}
	}
	return string(out)
}

// build inserts everything, durably, as the ingest path does: articles are
// made by other goroutines, one batch ahead.
func (b *run) build(ctx context.Context) error {
	if err := b.open(ctx); err != nil {
		return err
	}
	batches := make(chan []index.Mutation, 2)
	go b.produce(batches)
	start, last, lastN := time.Now(), time.Now(), uint64(0)
	var done uint64
	for batch := range batches {
		if _, err := b.x.Add(ctx, batch); err != nil {
			return err
		}
		done += uint64(len(batch))
		b.Progress("inserting", int64(done), int64(b.N))
		if done-lastN >= b.N/40+1 || done == b.N {
			b.res.Curve = append(b.res.Curve, Point{done, float64(done-lastN) / time.Since(last).Seconds()})
			last, lastN = time.Now(), done
		}
	}
	b.res.InsertsPerSecond = float64(b.N) / time.Since(start).Seconds()
	tenth := max(len(b.res.Curve)/10, 1)
	b.res.InsertsFirstTenth, b.res.InsertsLastTenth = mean(b.res.Curve[:tenth]), mean(b.res.Curve[len(b.res.Curve)-tenth:])
	return nil
}

func mean(points []Point) float64 {
	var s float64
	for _, p := range points {
		s += p.Rate
	}
	return s / float64(len(points))
}

var began = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

// produce makes batches in order, each by all processors.
func (b *run) produce(out chan<- []index.Mutation) {
	defer close(out)
	for from := uint64(0); from < b.N; from += uint64(b.Batch) {
		n := min(uint64(b.Batch), b.N-from)
		batch := make([]index.Mutation, n)
		parallel(int(n), func(k int) {
			i := from + uint64(k)
			batch[k] = index.Mutation{Seq: i + 1, At: began.Add(time.Duration(i) * time.Millisecond), Article: b.article(i, b.p.Print(i))}
		})
		out <- batch
	}
}

func parallel(n int, f func(int)) {
	workers := runtime.GOMAXPROCS(0)
	done := make(chan struct{}, workers)
	for w := range workers {
		go func() {
			for k := w; k < n; k += workers {
				f(k)
			}
			done <- struct{}{}
		}()
	}
	for range workers {
		<-done
	}
}

// restart closes the index (which writes a snapshot) and times a start.
func (b *run) restart(ctx context.Context) error {
	if err := b.x.Close(); err != nil {
		return err
	}
	runtime.GC()
	start := time.Now()
	if err := b.open(ctx); err != nil {
		return err
	}
	b.res.StartSeconds = time.Since(start).Seconds()
	return nil
}

// query is what is asked for, and the fingerprint it is a copy of: two copies
// of known items in three, one stranger (original 0).
func (b *run) query(k int) (q simhash.Print, original simhash.Fingerprint) {
	if k%3 == 2 {
		return b.p.Print(b.N + uint64(k)), 0
	}
	i := b.r.Uint64N(b.N)
	return b.p.Copy(i, uint64(k), []float64{0.03, 0.1, 0.2}[k/3%3]), b.p.Fingerprint(i)
}

func (b *run) lookups(context.Context) error {
	var hamming, margin []float64
	probe := b.x.Probe()
	for k := range b.Queries {
		b.Progress("look-ups", int64(k), int64(b.Queries))
		q, _ := b.query(k)
		start := time.Now()
		probe.Hamming(&q)
		middle := time.Now()
		probe.Margin(&q)
		margin = append(margin, micros(time.Since(middle)))
		hamming = append(hamming, micros(middle.Sub(start)))
	}
	b.res.HammingP50, b.res.HammingP99, b.res.HammingP999 = percentiles(hamming)
	b.res.MarginP50, b.res.MarginP99, b.res.MarginP999 = percentiles(margin)
	return nil
}

// verdicts times whole dry runs: copies of members of families among them, in
// their share.
func (b *run) verdicts(ctx context.Context) error {
	var took []float64
	for k := range b.Queries {
		b.Progress("verdicts", int64(k), int64(b.Queries))
		i := b.r.Uint64N(b.N)
		q := b.p.Copy(i, uint64(k), 0.1)
		a := b.article(i, q)
		a.ID, a.Exact[0] = fmt.Sprint("query-", k), a.Exact[0]^1
		start := time.Now()
		if _, err := b.x.Check(ctx, a, uint32(began.Add(time.Duration(b.N)*time.Millisecond).Unix())); err != nil {
			return err
		}
		took = append(took, micros(time.Since(start)))
		judged := b.x.Probe().Judged(a)
		b.res.Judged += float64(judged) / float64(b.Queries)
		b.res.JudgedMost = max(b.res.JudgedMost, judged)
	}
	b.res.VerdictP50, b.res.VerdictP99, b.res.VerdictP999 = percentiles(took)
	return nil
}

func (b *run) sizes(context.Context) error {
	bands, resident := b.x.Probe().Bytes()
	b.res.BandsBytes, b.res.ResidentBytes = float64(bands)/float64(b.N), float64(resident)/float64(b.N)
	var disk int64
	for _, name := range []string{index.FileName, index.FileName + "-wal", index.SnapshotFileName, index.SnapshotFileName + "-wal"} {
		if info, err := os.Stat(filepath.Join(b.Dir, name)); err == nil {
			disk += info.Size()
		}
	}
	b.res.DiskBytes = float64(disk) / float64(b.N)
	return nil
}

func micros(d time.Duration) float64 { return float64(d.Nanoseconds()) / 1000 }

func percentiles(v []float64) (p50, p99, p999 float64) {
	slices.Sort(v)
	at := func(q float64) float64 { return v[min(int(q*float64(len(v))), len(v)-1)] }
	return at(0.5), at(0.99), at(0.999)
}

// Print writes a result for people.
func (r *Result) Print(w io.Writer) error {
	_, err := fmt.Fprintf(w, `%d items
inserts, durable     %9.0f /s     first tenth %.0f, last tenth %.0f
hamming              %9.1f µs p50 %9.1f p99 %9.1f p99.9
margin               %9.1f µs p50 %9.1f p99 %9.1f p99.9     finds %.1f %% of copies, %.1f %% of all a scan finds, at S < %g
to the verdict       %9.1f µs p50 %9.1f p99 %9.1f p99.9     %.1f proposals judged an item, %d at most
linear scan          %9.1f µs p50
SQLite rows          %9.1f µs p50     %.0f inserts/s, at %d items
resident             %9.1f bytes an item in the bands, %.1f in all
disk                 %9.1f bytes an item, kept texts left out
start to ready       %9.2f s
`, r.N, r.InsertsPerSecond, r.InsertsFirstTenth, r.InsertsLastTenth, r.HammingP50, r.HammingP99, r.HammingP999,
		r.MarginP50, r.MarginP99, r.MarginP999, 100*r.MarginFound, 100*r.MarginFoundAll, r.ScanS, r.VerdictP50, r.VerdictP99, r.VerdictP999, r.Judged, r.JudgedMost,
		r.ScanP50, r.RowsP50, r.Rows, r.RowsN, r.BandsBytes, r.ResidentBytes, r.DiskBytes, r.StartSeconds)
	return err
}
