package indexbench

import (
	"context"
	"errors"
	"runtime"
	"time"

	"jianguo/index"
	"jianguo/internal/synth"
)

// Fill puts o.N items into a catalogue in o.Dir for another measurement. The first
// arrives at began and the others a millisecond apart. They are not judged. Items of an
// earlier call count.
func Fill(ctx context.Context, o Options, began time.Time) (err error) {
	o.Batch = 1024
	b := &run{Options: o, p: synth.Population{Real: o.Real, Seed: o.Seed}, began: began}
	x, err := index.Open(ctx, index.Config{Dir: o.Dir, Progress: o.Progress})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, x.Close()) }()
	have, _ := x.Applied()
	return each(ctx, b, runtime.GOMAXPROCS(0), have, max(o.N, have), func(batch []index.Mutation) error {
		o.Progress("filling", int64(batch[0].Seq), int64(o.N))
		return insert(ctx, x, batch)
	})
}

// insert is index.Add without comparing texts: only an equal normal form or fingerprint makes a
// copy. It measures the cost of storing an item durably.
func insert(ctx context.Context, x *index.Index, batch []index.Mutation) error {
	exact := x.Policy()
	exact.Rules, exact.Distance = index.RulesHamming, 0
	p := x.Probe()
	*p.InForce = p.Matcher.Under(exact)
	_, err := x.Add(ctx, batch)
	*p.InForce = p.Matcher
	return err
}
