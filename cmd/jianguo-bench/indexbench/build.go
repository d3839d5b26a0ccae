package indexbench

import (
	"context"
	"fmt"
	"runtime"
	"time"

	"jianguo/index"
	"jianguo/simhash"
)

// points is the number of points of a curve, and curveQueries that of look-ups for each.
const (
	points       = 40
	curveQueries = 300
)

// pace measures the rate while the index grows. Only the time passed to step counts.
type pace struct {
	b        *run
	curve    []Point
	work     time.Duration // since the last point
	n, lastN uint64
	total    time.Duration
	slowest  time.Duration
}

func (p *pace) step(n int, took time.Duration) {
	p.n += uint64(n)
	p.work += took
	p.total += took
	p.slowest = max(p.slowest, took)
	p.b.Progress("inserting", int64(p.n), int64(p.b.N))
	if p.n-p.lastN < p.b.N/points+1 && p.n < p.b.N-p.b.Options.Judged {
		return
	}
	point := Point{N: p.n, Rate: float64(p.n-p.lastN) / p.work.Seconds()}
	point.HammingP50, point.MarginP50 = p.b.glance(p.n)
	p.curve = append(p.curve, point)
	p.work, p.lastN = 0, p.n
}

// glance times some look-ups among the first n items.
func (b *run) glance(n uint64) (hamming, margin float64) {
	var h, m []float64
	probe := b.probe()
	for k := range curveQueries {
		q, _, _ := b.query(k, n)
		start := time.Now()
		probe.hamming(&q)
		middle := time.Now()
		probe.margin(&q)
		m = append(m, micros(time.Since(middle)))
		h = append(h, micros(middle.Sub(start)))
	}
	hamming, _, _ = percentiles(h)
	margin, _, _ = percentiles(m)
	return hamming, margin
}

func mean(points []Point) float64 {
	if len(points) == 0 {
		return 0 // an earlier run inserted everything
	}
	var s float64
	for _, p := range points {
		s += p.Rate
	}
	return s / float64(len(points))
}

// build inserts everything durably, all but the last items without judging. Other
// goroutines generate the articles in advance.
func (b *run) build(ctx context.Context) error {
	if err := b.open(ctx); err != nil {
		return err
	}
	have, _ := b.x.Applied()
	if have > 0 && !b.Resume || have > b.N {
		return fmt.Errorf("%s holds %d items already", b.Dir, have)
	}
	select {
	case <-b.x.Probe().Outlined: // as if all had been inserted now
	case <-ctx.Done():
		return ctx.Err()
	}
	began := time.Now()
	b.res.Resumed = have
	unjudged := max(b.N-b.Options.Judged, have)
	b.res.JudgedN = b.N - unjudged
	p := pace{b: b, n: have, lastN: have}
	makers := max(runtime.GOMAXPROCS(0)-1, 1) // and one inserts
	err := each(ctx, b, makers, have, unjudged, func(batch []index.Mutation) error {
		start := time.Now()
		err := insert(ctx, b.x, batch)
		p.step(len(batch), time.Since(start))
		return err
	})
	if err != nil {
		return err
	}
	var judged time.Duration
	err = each(ctx, b, makers, unjudged, b.N, func(batch []index.Mutation) error {
		start := time.Now()
		parallel(len(batch), func(k int) {
			_ = b.x.Preview(ctx, batch[k].Article, batch[k].At) // what is missing, Add finds out
		})
		_, err := b.x.Add(ctx, batch)
		judged += time.Since(start)
		b.Progress("inserting with judging", int64(batch[0].Seq-unjudged), int64(b.res.JudgedN))
		return err
	})
	if b.res.JudgedN > 0 {
		b.res.JudgedPerSecond = float64(b.res.JudgedN) / judged.Seconds()
	}
	b.res.BuildSeconds = time.Since(began).Seconds()
	b.res.Curve, b.res.SlowestBatch = p.curve, micros(p.slowest)/1000
	if unjudged > have {
		b.res.InsertsPerSecond = float64(unjudged-have) / p.total.Seconds()
	}
	tenth := min(max(len(p.curve)/10, 1), len(p.curve))
	b.res.InsertsFirstTenth, b.res.InsertsLastTenth = mean(p.curve[:tenth]), mean(p.curve[len(p.curve)-tenth:])
	return err
}

// ahead is how many batches are made ahead of the one that is inserted.
const ahead = 8

// each calls f with batches of the items from…to in order, which so many others
// make, until ctx is done.
func each(ctx context.Context, b *run, makers int, from, to uint64, f func([]index.Mutation) error) error {
	type slot chan []index.Mutation
	order := make(chan slot, ahead)
	work := make(chan func(), ahead)
	quit := make(chan struct{})
	defer close(quit)
	for range makers {
		go func() {
			for w := range work {
				w()
			}
		}()
	}
	go func() {
		defer close(order)
		defer close(work)
		for at := from; at < to; at += uint64(b.Batch) {
			s, n := make(slot, 1), min(uint64(b.Batch), to-at)
			select {
			case order <- s:
			case <-quit:
				return
			}
			work <- func() { s <- b.batch(at, n) }
		}
	}()
	for s := range order {
		if err := ctx.Err(); err != nil {
			return err
		}
		if err := f(<-s); err != nil {
			return err
		}
	}
	return nil
}

func (b *run) batch(from, n uint64) []index.Mutation {
	batch := make([]index.Mutation, n)
	for k := range batch {
		i := from + uint64(k)
		batch[k] = index.Mutation{Seq: i + 1, At: b.began.Add(time.Duration(i) * time.Millisecond), Article: b.article(i, b.p.Print(i))}
	}
	return batch
}

// restart closes the index (which writes a snapshot) and times a start.
func (b *run) restart(ctx context.Context) error {
	start := time.Now()
	if err := b.x.Snapshot(ctx); err != nil {
		return err
	}
	b.res.SnapshotTook = time.Since(start).Seconds()
	if err := b.x.Close(); err != nil {
		return err
	}
	runtime.GC()
	start = time.Now()
	if err := b.open(ctx); err != nil {
		return err
	}
	b.res.StartSeconds = time.Since(start).Seconds()
	return nil
}

// post makes fingerprints resident, without a catalogue.
func (b *run) post(ctx context.Context) error {
	if err := b.open(ctx); err != nil {
		return err
	}
	began := time.Now()
	p := pace{b: b}
	postings := b.x.Probe().Bands
	fingerprints := make([]simhash.Fingerprint, 0, 1<<14)
	for i := uint64(0); i < b.N; i += uint64(len(fingerprints)) {
		if err := ctx.Err(); err != nil {
			return err
		}
		fingerprints = fingerprints[:min(b.N-i, uint64(cap(fingerprints)))]
		parallel(len(fingerprints), func(k int) { fingerprints[k] = b.p.Fingerprint(i + uint64(k)) })
		start := time.Now()
		for k, fp := range fingerprints {
			postings.Add(fp, uint32(i+1)+uint32(k))
		}
		p.step(len(fingerprints), time.Since(start))
	}
	b.res.BuildSeconds = time.Since(began).Seconds()
	b.res.Curve, b.res.ResidentPerSecond = p.curve, float64(b.N)/p.total.Seconds()
	return nil
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

// reload writes the snapshot and times a start from it.
func (b *run) reload(ctx context.Context) error {
	start := time.Now()
	if err := b.x.Snapshot(ctx); err != nil {
		return err
	}
	b.res.SnapshotTook = time.Since(start).Seconds()
	if err := b.x.Close(); err != nil {
		return err
	}
	start = time.Now()
	if err := b.open(ctx); err != nil {
		return err
	}
	b.res.StartSeconds = time.Since(start).Seconds()
	<-b.x.Probe().Outlined
	return nil
}
