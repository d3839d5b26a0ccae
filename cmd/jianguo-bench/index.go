package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"jianguo/compare"
	"jianguo/index"
	"jianguo/internal/datadir"
	"jianguo/internal/must"
	"jianguo/simhash"
)

type indexCmd struct {
	N       uint64 `short:"n" help:"How many items." default:"1000000"`
	Dir     string `help:"Keep the index here; empty: a temporary directory, removed at the end." placeholder:"DIR"`
	Queries int    `help:"Look-ups of each kind." default:"2000"`
}

func (c *indexCmd) Help() string {
	return `inserts_per_second is the durable insert: row, sketch, event, postings and look-ups of an item whose verdict
is known, in batches of 256, each committed with synchronous=FULL, while snapshots are written. The time to generate
the items is not in it. Items are synthetic: random fingerprints, 1 % of them in families of near-duplicates by the
thousand. Sketches are of random text, in a family of one text with other figures.`
}

type indexBench struct {
	indexCmd
	items population
	r     *rand.Rand
	began time.Time // when the first item arrived; the others follow a millisecond apart

	x   *index.Index
	res figures
}

const batchSize = 256

// seed is that of the items: those of one run are those of the next.
const seed = 1

func (c *indexCmd) Run(co *streams) error {
	return must.Catch(func() {
		c.Dir = cmp.Or(c.Dir, co.dir)
		lock := must.Get(datadir.Acquire(c.Dir, datadir.Holder{Command: "bench"}))
		defer lock.Close()
		if c.N == 0 {
			must.Do(errors.New("how many items? N is 0"))
		}
		b := &indexBench{indexCmd: *c, items: population{familySize: 3000}, r: rand.New(rand.NewPCG(seed, 7)),
			began: time.Now().Add(-time.Duration(c.N) * time.Millisecond), res: figures{"n": c.N}}
		b.open(co.ctx)
		for _, step := range []func(context.Context){b.build, b.restart, b.lookups, b.verdicts, b.sizes} {
			step(co.ctx)
		}
		must.Do(b.x.Close())
		co.print(b.res)
	})
}

// open opens the index. It panics on errors (must), as do all steps.
func (b *indexBench) open(ctx context.Context) {
	b.x = must.Get(index.Open(ctx, index.Config{Dir: b.Dir}))
}

// article is item i as ingest would pass it to the index.
func (b *indexBench) article(i uint64, p simhash.Print) *index.Article {
	a := &index.Article{ID: fmt.Sprintf("item-%012d", i), Print: p}
	r := rand.New(rand.NewPCG(seed+1, i))
	figures := r
	if f, ok := b.items.family(i); ok {
		r = rand.New(rand.NewPCG(seed+2, f))
	}
	a.Sketch = compare.NewSketch(&compare.Text{Body: randomText(r, figures)})
	for k := range a.Exact {
		a.Exact[k] = byte(figures.Uint32())
	}
	return a
}

// randomText is 230 random characters with six figures: long enough for a fingerprint, and short enough to be sketched
// quickly.
func randomText(r, figures *rand.Rand) string {
	out := make([]byte, 0, 1024)
	for i := range 230 {
		out = append(out, string(rune(0x4e00+r.IntN(3000)))...)
		if i%40 == 20 {
			out = fmt.Appendf(out, "%d", figures.IntN(100000))
		}
	}
	return string(out)
}
