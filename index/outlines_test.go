package index

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"jianguo/index/indextest"
	"jianguo/internal/testbed"
)

// TestOutlinesFollowTheRows: through failed batches and restarts, the outlines
// that are there are those of the rows, and in the end all are.
func TestOutlinesFollowTheRows(t *testing.T) {
	ctx := context.Background()
	dir := t.TempDir()
	failing := false
	open := func() *Index {
		return openTest(t, dir, func(c *Config) {
			c.Relaxed = true
			c.Fail = func(point string) error {
				if failing && point == "commit" {
					return errors.New("the disk is full")
				}
				return nil
			}
		})
	}
	x := open()
	r := rand.New(rand.NewPCG(5, 6))
	p := &indextest.Press{Rand: r}
	articles := map[uint32]*Article{}
	outlined := func(ordinal uint32) bool { _, ok := x.tables.Rows.Outline(ordinal); return ok }
	check := func() {
		t.Helper()
		for ordinal := uint32(1); ordinal < x.nextOrdinal; ordinal++ {
			got, _ := x.tables.Rows.Outline(ordinal)
			want := articles[ordinal].Sketch.Outline
			if got != want {
				t.Fatalf("the outline of ordinal %d is %v, want %v", ordinal, got, want)
			}
		}
		if outlined(x.nextOrdinal) || outlined(1<<31) {
			t.Fatal("there are outlines of what is not there")
		}
	}
	seq := uint64(0)
	for i := range 120 {
		var batch []Mutation
		for range 1 + r.IntN(5) {
			seq++
			batch = append(batch, Mutation{Seq: seq, At: testStart.Add(time.Duration(seq) * time.Minute), Article: indextest.ArticleOf(fmt.Sprint("i", seq), p.Write())})
		}
		if failing = r.IntN(4) == 0; failing {
			if _, err := x.Add(ctx, batch); err == nil {
				t.Fatal("a failed commit was reported as done")
			}
			failing = false
			batch[0].Article = indextest.ArticleOf("other", p.Write())
		}
		first := x.nextOrdinal
		outcomes := put(t, x, batch...)
		for k := range batch {
			if outcomes[k].Changed {
				articles[first] = batch[k].Article
				first++
			}
		}
		check()
		if i%30 == 29 {
			testbed.OK(t, x.Close())
			x = open()
			<-x.Probe().Outlined
			check()
		}
	}
	mustVerify(t, x)
	testbed.OK(t, x.Close())
}
