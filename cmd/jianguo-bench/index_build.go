package main

import (
	"context"
	"fmt"
	"runtime"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"jianguo/index"
)

// curvePoints is the number of points of the curve, and curveQueries that of look-ups for each.
const (
	curvePoints  = 40
	curveQueries = 300
)

// growth measures the rate while the index grows. Only the time passed to step counts.
type growth struct {
	b        *indexBench
	work     time.Duration // since the last point
	n, lastN uint64
	total    time.Duration
}

func (g *growth) step(n int, took time.Duration) {
	g.n += uint64(n)
	g.work += took
	g.total += took
	if g.n-g.lastN < g.b.N/curvePoints+1 && g.n < g.b.N-g.b.judged {
		return
	}
	point := sizePoint{N: g.n, Rate: float64(g.n-g.lastN) / g.work.Seconds()}
	var hamming, margin samples
	for k := range curveQueries {
		q, _, _ := g.b.query(k, g.n)
		h, m := g.b.timeLookups(&q)
		hamming, margin = append(hamming, h), append(margin, m)
	}
	point.HammingP50, point.MarginP50 = hamming.median(), margin.median()
	g.b.res.Curve = append(g.b.res.Curve, point)
	g.work, g.lastN = 0, g.n
}

func meanRate(points []sizePoint) (mean float64) {
	for _, p := range points {
		mean += p.Rate / float64(len(points))
	}
	return mean
}

// build inserts everything durably, all but the last items without judging.
func (b *indexBench) build(ctx context.Context) error {
	if have, _ := b.x.Applied(); have > 0 {
		return fmt.Errorf("%s holds %d items already", b.Dir, have)
	}
	began := time.Now()
	unjudged := b.N - b.judged
	g := growth{b: b}
	err := b.inBatches(ctx, 0, unjudged, func(batch []index.Mutation) error {
		start := time.Now()
		err := b.insert(ctx, batch)
		g.step(len(batch), time.Since(start))
		return err
	})
	if err != nil {
		return err
	}
	var judged time.Duration
	err = b.inBatches(ctx, unjudged, b.N, func(batch []index.Mutation) error {
		start := time.Now()
		onAllCores(len(batch), func(k int) {
			_ = b.x.Preview(ctx, batch[k].Article, batch[k].At) // what is missing, Add finds out
		})
		_, err := b.x.Add(ctx, batch)
		judged += time.Since(start)
		return err
	})
	if b.res.JudgedN = b.judged; b.judged > 0 {
		b.res.JudgedPerSecond = float64(b.judged) / judged.Seconds()
	}
	b.res.BuildSeconds = time.Since(began).Seconds()
	b.res.InsertsPerSecond = float64(unjudged) / g.total.Seconds()
	curve := b.res.Curve
	tenth := min(max(len(curve)/10, 1), len(curve))
	b.res.InsertsFirstTenth, b.res.InsertsLastTenth = meanRate(curve[:tenth]), meanRate(curve[len(curve)-tenth:])
	return err
}

// insert is index.Add without comparing texts: only an equal normal form or fingerprint makes a copy. It measures the
// cost of storing an item durably.
func (b *indexBench) insert(ctx context.Context, batch []index.Mutation) error {
	exact := b.x.Policy()
	exact.Rules, exact.Distance = index.RulesHamming, 0
	p := b.x.Probe()
	*p.InForce = p.Matcher.Under(exact)
	_, err := b.x.Add(ctx, batch)
	*p.InForce = p.Matcher
	return err
}

// inBatches calls f with the items from…to in order. The other cores make batches ahead of the one that f has.
func (b *indexBench) inBatches(ctx context.Context, from, to uint64, f func([]index.Mutation) error) error {
	order := make(chan chan []index.Mutation, max(runtime.GOMAXPROCS(0)-1, 1))
	g, ctx := errgroup.WithContext(ctx)
	g.Go(func() error {
		defer close(order)
		for first := from; first < to; first += batchSize {
			made := make(chan []index.Mutation, 1)
			select {
			case order <- made:
			case <-ctx.Done():
				return ctx.Err()
			}
			go func() { made <- b.batch(first, min(batchSize, to-first)) }()
		}
		return nil
	})
	g.Go(func() error {
		for made := range order {
			if err := f(<-made); err != nil {
				return err
			}
		}
		return nil
	})
	return g.Wait()
}

func (b *indexBench) batch(from, n uint64) []index.Mutation {
	batch := make([]index.Mutation, n)
	for k := range batch {
		i := from + uint64(k)
		batch[k] = index.Mutation{Seq: i + 1, At: b.began.Add(time.Duration(i) * time.Millisecond),
			Article: b.article(i, b.items.print(i))}
	}
	return batch
}

// onAllCores calls f with 0…n-1.
func onAllCores(n int, f func(int)) {
	workers := runtime.GOMAXPROCS(0)
	var wg sync.WaitGroup
	for w := range workers {
		wg.Go(func() {
			for k := w; k < n; k += workers {
				f(k)
			}
		})
	}
	wg.Wait()
}

// restart closes the index, which writes a snapshot, times a start, and waits until the outlines are read.
func (b *indexBench) restart(ctx context.Context) error {
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
	select {
	case <-b.x.Probe().Outlined:
		b.res.OutlinesSeconds = time.Since(start).Seconds()
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
