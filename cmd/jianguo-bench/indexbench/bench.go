// Package indexbench measures an index of any size, on disk and durable, as an
// ingest would build it: inserts, look-ups, verdicts, bytes and start-up, with
// a linear scan and the same bands as SQLite rows beside them in the same run.
//
// Items are synthetic (package synth): random fingerprints, or real ones
// perturbed, 1 % of them in families of near-duplicates by the thousand. Their
// sketches are of random text, family members of one text with other figures.
// Numbers are of one machine at one time: compare within a run.
//
// Three rates are reported. A durable insert stores an item whose verdict is known:
// row, sketch, event, postings and look-ups, in batches of 256, each committed with
// synchronous=FULL, while snapshots are written as in service. A judged insert also
// makes the verdict (an ingest without segmentation), on the last items of the run.
// Without a catalogue there are only resident inserts: postings in memory. The time to
// generate the items is in none of them.
package indexbench

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"time"

	"jianguo/index"
	"jianguo/index/maintain"
	"jianguo/internal/synth"
	"jianguo/simhash"
	"jianguo/sketch"
)

// Options say what to run. N is required.
type Options struct {
	N    uint64
	Real []simhash.Fingerprint // to perturb; nil: random
	Dir  string                // for the files; empty: a temporary directory, removed at the end
	// NoCatalogue builds fingerprint postings and their snapshot, and nothing
	// else.
	NoCatalogue bool
	// Resume goes on where a former run with the same Seed and Real ended in Dir:
	// only what is missing of N is inserted, and all rates are of that.
	Resume      bool
	NoBaselines bool   // leaves out the linear scan and the SQLite rows
	Batch       int    // items a transaction; 0: 256
	Judged      uint64 // how many items are inserted with judging, at the end; 0: 20,000, at most a tenth
	Queries     int    // look-ups of each kind; 0: 2,000
	Rows        int    // items of the SQLite-rows baseline, at most; 0: 2,000,000
	Seed        uint64
	Progress    func(stage string, done, total int64)
}

// Result is one run. Latencies are microseconds.
type Result struct {
	N           uint64 `json:"n"`
	NoCatalogue bool   `json:"no_catalogue,omitempty"`
	Resumed     uint64 `json:"resumed_at,omitempty"` // items of an earlier run
	// InsertsPerSecond are durable inserts: see the package comment. 0 without a
	// catalogue.
	InsertsPerSecond  float64 `json:"inserts_per_second"`
	InsertsFirstTenth float64 `json:"inserts_per_second_first_tenth"`
	InsertsLastTenth  float64 `json:"inserts_per_second_last_tenth"`
	SlowestBatch      float64 `json:"slowest_batch_ms"`
	// JudgedPerSecond are inserts with judging, the last JudgedN of N.
	JudgedPerSecond   float64 `json:"judged_inserts_per_second"`
	JudgedN           uint64  `json:"judged_n"`
	ResidentPerSecond float64 `json:"resident_inserts_per_second,omitempty"` // only without a catalogue

	HammingP50  float64 `json:"hamming_p50_us"`
	HammingP99  float64 `json:"hamming_p99_us"`
	HammingP999 float64 `json:"hamming_p999_us"`
	MarginP50   float64 `json:"margin_p50_us"`
	MarginP99   float64 `json:"margin_p99_us"`
	MarginP999  float64 `json:"margin_p999_us"`
	// MarginFound is the share of the copies asked for, at S < ScanS from an
	// indexed item, that find it; MarginFoundAll that of everything a scan finds
	// there, most of it unrelated items.
	MarginFound    float64 `json:"margin_found"`
	MarginCopies   int     `json:"margin_copies"` // how many those were
	MarginFoundAll float64 `json:"margin_found_all"`
	ScanS          float64 `json:"scan_s"`
	VerdictP50     float64 `json:"verdict_p50_us"`
	VerdictP99     float64 `json:"verdict_p99_us"`
	VerdictP999    float64 `json:"verdict_p999_us"`
	// StartVerdict are verdicts right after a start, while outlines are read in
	// the background.
	StartVerdictP50 float64 `json:"start_verdict_p50_us"`
	StartVerdictP99 float64 `json:"start_verdict_p99_us"`
	Judged          float64 `json:"judged_per_item"` // proposals, mean
	JudgedMost      int     `json:"judged_most"`

	BandsBytes    float64            `json:"bands_bytes_per_item"`    // resident, the four bands
	ResidentBytes float64            `json:"resident_bytes_per_item"` // resident, everything of ours
	Resident      map[string]float64 `json:"resident_bytes_by_part"`
	DiskBytes     float64            `json:"disk_bytes_per_item"` // catalogue and snapshot, no kept texts
	Disk          map[string]float64 `json:"disk_bytes_by_part"`
	SnapshotTook  float64            `json:"snapshot_seconds"` // the last one, when closing
	StartSeconds  float64            `json:"start_seconds"`
	// OutlinesSeconds is the time from the start until all outlines were read.
	OutlinesSeconds float64 `json:"outlines_seconds"`
	BuildSeconds    float64 `json:"build_seconds"` // wall clock, including the generation of items

	ScanP50 float64 `json:"scan_p50_us"` // linear popcount scan
	RowsP50 float64 `json:"rows_p50_us"` // the same bands as SQLite rows
	RowsN   int     `json:"rows_n"`
	Rows    float64 `json:"rows_inserts_per_second"`

	// Curve is inserts a second (durable, or resident without a catalogue) and
	// look-ups against size.
	Curve []Point `json:"curve"`
}

// Point is a measurement at a size on the way.
type Point struct {
	N          uint64  `json:"n"`
	Rate       float64 `json:"inserts_per_second"`
	HammingP50 float64 `json:"hamming_p50_us"`
	MarginP50  float64 `json:"margin_p50_us"`
}

// run is one measurement under way.
type run struct {
	Options
	p   synth.Population
	x   *index.Index
	res Result
	r   *rand.Rand

	began time.Time // when the first item arrived; the others follow a millisecond apart

	near int // results of scans, so that the compiler keeps them
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
	if o.Judged == 0 {
		o.Judged = min(20_000, o.N/10)
	}
	if o.NoCatalogue {
		o.Judged = 0
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
	b := &run{Options: o, p: synth.Population{Real: o.Real, Seed: o.Seed}, r: rand.New(rand.NewPCG(o.Seed, 7)), began: began, res: Result{N: o.N, NoCatalogue: o.NoCatalogue, JudgedN: o.Judged}}
	for _, step := range b.steps() {
		if err := step(ctx); err != nil {
			if b.x != nil {
				err = errors.Join(err, b.x.Close())
			}
			return nil, fmt.Errorf("bench: %w", err)
		}
	}
	return &b.res, b.x.Close()
}

func (b *run) steps() []func(context.Context) error {
	steps := []func(context.Context) error{b.build, b.restart, b.starting, b.lookups, b.verdicts, b.sizes}
	if b.NoCatalogue {
		steps = []func(context.Context) error{b.post, b.reload, b.lookups, b.sizes}
	}
	if b.NoBaselines {
		return steps
	}
	return append(steps, b.scan, b.rows)
}

func (b *run) open(ctx context.Context) (err error) {
	b.x, err = index.Open(ctx, index.Config{Dir: b.Dir, Progress: b.Progress})
	return err
}

// article is item i as ingest would pass it to the index.
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

// text is 230 random characters with six figures: long enough for a fingerprint, and
// short enough to be sketched quickly.
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

var began = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

// query is a query over the first n items, with the fingerprint and the number of the
// item that it is a copy of. Of three queries two are copies of known items and one is
// unrelated.
func (b *run) query(k int, n uint64) (q simhash.Print, original simhash.Fingerprint, item uint64) {
	if k%3 == 2 {
		return b.p.Print(b.N + uint64(k)), 0, b.N
	}
	i := b.r.Uint64N(n)
	return b.p.Copy(i, uint64(k), []float64{0.03, 0.1, 0.2}[k/3%3]), b.p.Fingerprint(i), i
}

func (b *run) lookups(context.Context) error {
	var hamming, margin []float64
	probe := b.probe()
	found := 0
	for k := range b.Queries {
		b.Progress("look-ups", int64(k), int64(b.Queries))
		q, original, i := b.query(k, b.N)
		start := time.Now()
		probe.hamming(&q)
		middle := time.Now()
		probe.margin(&q)
		margin = append(margin, micros(time.Since(middle)))
		hamming = append(hamming, micros(middle.Sub(start)))
		if b.indexed(i) && q.S(original) < scanS {
			b.res.MarginCopies++
			if slices.Contains(probe.within(&q, scanS), original) {
				found++
			}
		}
	}
	b.res.MarginFound = share(found, b.res.MarginCopies)
	b.res.HammingP50, b.res.HammingP99, b.res.HammingP999 = percentiles(hamming)
	b.res.MarginP50, b.res.MarginP99, b.res.MarginP999 = percentiles(margin)
	return nil
}

// indexed reports whether an item is an exemplar; the number of an unrelated query is
// beyond those of all items.
func (b *run) indexed(i uint64) bool {
	return i < b.N && (b.NoCatalogue || b.probe().exemplar(uint32(i+1)))
}

// verdicts times whole dry runs. Members of families are copied in their share.
func (b *run) verdicts(ctx context.Context) error {
	var took []float64
	for k := range b.Queries {
		b.Progress("verdicts", int64(k), int64(b.Queries))
		a, t, err := b.verdict(ctx, uint64(k))
		if err != nil {
			return err
		}
		took = append(took, t)
		judged := len(b.x.Probe().Matcher.Propose(a))
		b.res.Judged += float64(judged) / float64(b.Queries)
		b.res.JudgedMost = max(b.res.JudgedMost, judged)
	}
	b.res.VerdictP50, b.res.VerdictP99, b.res.VerdictP999 = percentiles(took)
	return nil
}

// verdict times the dry run of a copy of any item.
func (b *run) verdict(ctx context.Context, k uint64) (*index.Article, float64, error) {
	i := b.r.Uint64N(b.N)
	a := b.article(i, b.p.Copy(i, k, 0.1))
	a.ID, a.Exact[7] = fmt.Sprint("query-", k), a.Exact[7]^1 // another normal form: another key
	start := time.Now()
	_, err := b.x.Check(ctx, a, uint32(began.Add(time.Duration(b.N)*time.Millisecond).Unix()))
	return a, micros(time.Since(start)), err
}

// starting times verdicts until the outlines are read, at most as many as verdicts
// does, and then waits for the outlines.
func (b *run) starting(ctx context.Context) error {
	start, outlined := time.Now(), b.x.Probe().Outlined
	var took []float64
	for k := range b.Queries {
		b.Progress("verdicts at the start", int64(k), int64(b.Queries))
		_, t, err := b.verdict(ctx, uint64(b.Queries+k))
		if err != nil {
			return err
		}
		took = append(took, t)
		select {
		case <-outlined:
		default:
			continue
		}
		break
	}
	b.res.StartVerdictP50, b.res.StartVerdictP99, _ = percentiles(took)
	select {
	case <-outlined:
	case <-ctx.Done():
		return ctx.Err()
	}
	b.res.OutlinesSeconds = time.Since(start).Seconds()
	return nil
}

func (b *run) sizes(ctx context.Context) error {
	n := float64(b.N)
	inBands, parts := maintain.Resident(b.probe().Tables)
	b.res.BandsBytes, b.res.Resident = float64(inBands)/n, map[string]float64{}
	for part, bytes := range parts {
		b.res.Resident[part] = float64(bytes) / n
		b.res.ResidentBytes += float64(bytes) / n
	}
	sizes, err := maintain.Sizes(ctx, b.Dir)
	if err != nil {
		return err
	}
	b.res.Disk = map[string]float64{}
	for _, s := range sizes {
		if s.Part == "texts" || b.NoCatalogue && s.File == index.FileName {
			continue
		}
		b.res.DiskBytes += float64(s.Bytes) / n
		if per := float64(s.Bytes) / n; per >= 0.05 {
			b.res.Disk[s.File+" "+s.Part] = per
		}
	}
	return nil
}

func micros(d time.Duration) float64 { return float64(d.Nanoseconds()) / 1000 }

func percentiles(v []float64) (p50, p99, p999 float64) {
	slices.Sort(v)
	at := func(q float64) float64 { return v[min(int(q*float64(len(v))), len(v)-1)] }
	return at(0.5), at(0.99), at(0.999)
}
