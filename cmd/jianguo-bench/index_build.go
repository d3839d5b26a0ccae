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
	slowest  time.Duration
}

func (g *growth) step(n int, took time.Duration) {
	g.n += uint64(n)
	g.work += took
	g.total += took
	g.slowest = max(g.slowest, took)
	g.b.progress("inserting", int64(g.n), int64(g.b.N))
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

// meanRate is 0 without points: an earlier run inserted everything.
func meanRate(points []sizePoint) (mean float64) {
	for _, p := range points {
		mean += p.Rate / float64(len(points))
	}
	return mean
}

// build inserts everything durably, all but the last items without judging.
func (b *indexBench) build(ctx context.Context) error {
	have, _ := b.x.Applied()
	if have > 0 && !b.Resume || have > b.N {
		return fmt.Errorf("%s holds %d items already", b.Dir, have)
	}
	if err := b.outlined(ctx); err != nil { // as if all had been inserted now
		return err
	}
	began := time.Now()
	b.res.Resumed = have
	unjudged := max(b.N-b.judged, have)
	b.res.JudgedN = b.N - unjudged
	g := growth{b: b, n: have, lastN: have}
	err := b.inBatches(ctx, have, unjudged, func(batch []index.Mutation) error {
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
		b.progress("inserting with judging", int64(batch[0].Seq-unjudged), int64(b.res.JudgedN))
		return err
	})
	if b.res.JudgedN > 0 {
		b.res.JudgedPerSecond = float64(b.res.JudgedN) / judged.Seconds()
	}
	b.res.BuildSeconds, b.res.SlowestBatch = time.Since(began).Seconds(), micros(g.slowest)/1000
	if unjudged > have {
		b.res.InsertsPerSecond = float64(unjudged-have) / g.total.Seconds()
	}
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
			Article: b.article(i, b.items.Print(i))}
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

// restart closes the index, which writes a snapshot, and times a start.
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
	return nil
}

// outlined waits until the outlines are read.
func (b *indexBench) outlined(ctx context.Context) error {
	select {
	case <-b.x.Probe().Outlined:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
