package main

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"sync"
	"time"

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
	if g.n-g.lastN < g.b.N/curvePoints+1 && g.n < g.b.N {
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

// build inserts everything durably, in batches of which all cores make one.
func (b *indexBench) build(ctx context.Context) error {
	if have, _ := b.x.Applied(); have > 0 {
		return fmt.Errorf("%s holds %d items already", b.Dir, have)
	}
	g := growth{b: b}
	for from := uint64(0); from < b.N; from += batchSize {
		batch := make([]index.Mutation, min(batchSize, b.N-from))
		onAllCores(len(batch), func(k int) {
			i := from + uint64(k)
			batch[k] = index.Mutation{Seq: i + 1, At: b.began.Add(time.Duration(i) * time.Millisecond),
				Article: b.article(i, b.items.print(i))}
		})
		start := time.Now()
		if err := b.insert(ctx, batch); err != nil {
			return err
		}
		g.step(len(batch), time.Since(start))
	}
	b.res.InsertsPerSecond = float64(b.N) / g.total.Seconds()
	curve := b.res.Curve
	tenth := min(max(len(curve)/10, 1), len(curve))
	b.res.InsertsFirstTenth, b.res.InsertsLastTenth = meanRate(curve[:tenth]), meanRate(curve[len(curve)-tenth:])
	return nil
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

// restart writes a snapshot, closes the index, times a start, and waits until the outlines are read.
func (b *indexBench) restart(ctx context.Context) error {
	if err := errors.Join(b.x.Snapshot(ctx), b.x.Close()); err != nil {
		return err
	}
	runtime.GC()
	start := time.Now()
	if err := b.open(ctx); err != nil {
		return err
	}
	b.res.StartSeconds = time.Since(start).Seconds()
	select {
	case <-b.x.Probe().Outlined:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
