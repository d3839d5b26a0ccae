package bench

import (
	"context"
	"errors"
	"time"

	"jianguo/index"
	"jianguo/index/bands/synth"
)

// Fill puts o.N items into a catalogue in o.Dir for another measurement, the
// first of them arriving at began and the others a millisecond apart. They are
// not judged (Probe.Insert).
func Fill(ctx context.Context, o Options, began time.Time) (err error) {
	const size = 1024
	b := &run{Options: o, p: synth.Population{Real: o.Real, Seed: o.Seed}}
	x, err := index.Open(ctx, index.Config{Dir: o.Dir, Progress: o.Progress})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, x.Close()) }()
	for from := uint64(0); from < o.N; from += size {
		batch := make([]index.Mutation, min(size, o.N-from))
		parallel(len(batch), func(k int) {
			i := from + uint64(k)
			batch[k] = index.Mutation{Seq: i + 1, At: began.Add(time.Duration(i) * time.Millisecond), Article: b.article(i, b.p.Print(i))}
		})
		if err := x.Probe().Insert(ctx, batch); err != nil {
			return err
		}
		o.Progress("filling", int64(from)+int64(len(batch)), int64(o.N))
	}
	return nil
}
