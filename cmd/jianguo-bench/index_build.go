package main

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"time"

	"golang.org/x/sync/errgroup"

	"jianguo/index"
	"jianguo/internal/must"
)

// build inserts everything durably, in batches of which all cores make one.
func (b *indexBench) build(ctx context.Context) {
	if have, _ := b.x.Applied(); have > 0 {
		must.Do(fmt.Errorf("%s holds %d items already", b.Dir, have))
	}
	var took [11]time.Duration // of each tenth, and behind them of all
	var n [11]uint64
	for from := uint64(0); from < b.N; from += batchSize {
		batch := make([]index.Mutation, min(batchSize, b.N-from))
		var g errgroup.Group
		g.SetLimit(runtime.GOMAXPROCS(0))
		for k := range batch {
			g.Go(func() error {
				i := from + uint64(k)
				batch[k] = index.Mutation{Seq: i + 1, At: b.began.Add(time.Duration(i) * time.Millisecond),
					Article: b.article(i, b.items.print(i))}
				return nil
			})
		}
		_ = g.Wait() // no error
		start := time.Now()
		b.insert(ctx, batch)
		d := time.Since(start)
		for _, part := range []uint64{10 * from / b.N, 10} {
			n[part], took[part] = n[part]+uint64(len(batch)), took[part]+d
		}
	}
	rate := func(part int) float64 { return float64(n[part]) / max(took[part].Seconds(), 1e-9) }
	b.res["inserts_per_second_first_tenth"], b.res["inserts_per_second_last_tenth"] = rate(0), rate(9)
	b.res["inserts_per_second"] = rate(10)
}

// insert is index.Add without comparing texts: only an equal normal form or fingerprint makes a copy. It measures the
// cost of storing an item durably.
func (b *indexBench) insert(ctx context.Context, batch []index.Mutation) {
	exact := b.x.Policy()
	exact.Rules, exact.Distance = index.RulesHamming, 0
	p := b.x.Probe()
	*p.InForce = p.Matcher.WithPolicy(exact)
	must.Get(b.x.Add(ctx, batch))
	*p.InForce = p.Matcher
}

// restart writes a snapshot, closes the index, times a start, and waits until the outlines are read.
func (b *indexBench) restart(ctx context.Context) {
	must.Do(errors.Join(b.x.Snapshot(ctx), b.x.Close()))
	runtime.GC()
	start := time.Now()
	b.open(ctx)
	b.res["start_seconds"] = time.Since(start).Seconds()
	select {
	case <-b.x.Probe().Outlined:
	case <-ctx.Done():
		must.Do(ctx.Err())
	}
}
