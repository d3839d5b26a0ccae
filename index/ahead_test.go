package index

import (
	"context"
	"errors"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"jianguo/compare"
	"jianguo/index/indextest"
	"jianguo/internal/testbed"
)

// openTight opens an index with bounds so low that a small corpus reaches them.
func openTight(t *testing.T, full int, fail func(string) error) *Index {
	x := openTest(t, t.TempDir(), func(c *Config) {
		*c.Policy = DefaultPolicy()
		c.Policy.Judged, c.Policy.Passages, c.Policy.Texts, c.Policy.Work = 3, 2, 2, 800
		c.Policy.Window, c.Policy.Cap = 3*time.Hour, 5*time.Hour
		c.Relaxed, c.Fail = true, fail
		c.Normal = func(title, body string) compare.Text { return compare.Text{Title: title, Body: body} }
	})
	x.tables.Bands.Full = full
	t.Cleanup(func() { _ = x.Close() })
	return x
}

// TestCompareAheadChangesNoVerdict: an article gets the same verdict if it was compared ahead,
// however early, and if not.
func TestCompareAheadChangesNoVerdict(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	compared, failed := 0, 0
	for _, seed := range testbed.Sequential([]uint64{0, 1, 2, 3, 4, 5}[:testbed.Count(2, 6, 6)]) {
		r := rand.New(rand.NewPCG(seed, 1))
		p, inTurn := &indextest.Press{Rand: r}, openTight(t, 200, nil)
		var failing func() // runs before the commit that fails
		early := openTight(t, 200, func(point string) error {
			if failing != nil && point == "commit" {
				failing()
				return errors.New("the disk is full")
			}
			return nil
		})
		const n = 500
		type item struct{ inTurn, early Mutation }
		items := make([]item, n)
		for i := range items {
			m := p.Mutation(uint64(i + 1))
			items[i] = item{m, m}
			if m.Article != nil {
				a := *m.Article
				items[i].early.Article = &a
			}
		}
		for i := range items {
			if _, err := inTurn.Add(ctx, []Mutation{items[i].inTurn}); err != nil {
				t.Fatal(err)
			}
		}
		// Workers compare up to three batches ahead, concurrently with the writer.
		const ahead = 60
		var seen int
		look := func(to int) {
			var wg sync.WaitGroup
			for ; seen < min(to, n); seen++ {
				if m := &items[seen].early; m.Article != nil {
					wg.Go(func() {
						if err := early.CompareAhead(ctx, m.Article, m.At); err != nil {
							t.Error(err)
						}
					})
				}
			}
			wg.Wait()
		}
		for from := 0; from < n; {
			to := min(from+1+r.IntN(24), n)
			look(to)
			var batch []Mutation
			for i := from; i < to; i++ {
				batch = append(batch, items[i].early)
			}
			// The batch that fails has another order: what is compared during it meets ordinals that come to stand for
			// other texts.
			if r.IntN(2) == 0 {
				failing = func() { look(to + ahead) }
				other := slices.Clone(batch)
				slices.Reverse(other)
				if _, err := early.Add(ctx, other); err == nil {
					t.Fatal("a failed commit was reported as done")
				}
				failing = nil
				failed++
			}
			done := make(chan struct{})
			go func() {
				defer close(done)
				look(to + ahead)
			}()
			if _, err := early.Add(ctx, batch); err != nil {
				t.Fatal(err)
			}
			<-done
			from = to
		}
		want, err := inTurn.Events(ctx, 0, 1<<20)
		testbed.OK(t, err)
		got, err := early.Events(ctx, 0, -1)
		testbed.OK(t, err)
		if diff := cmp.Diff(want, got); diff != "" {
			t.Fatalf("seed %d: events (-in turn +compared ahead):\n%s", seed, diff)
		}
		for i := range items {
			if a := items[i].early.Article; a != nil && a.Comparisons != nil {
				compared++
			}
		}
		mustVerify(t, early)
	}
	if compared < 80 || failed < 3 {
		t.Fatalf("%d articles were compared ahead, %d batches failed: this proves little", compared, failed)
	}
}
