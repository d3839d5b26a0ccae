package maintain

import (
	"context"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"jianguo/compare"
	"jianguo/index"
	"jianguo/index/indextest"
	"jianguo/index/verdict"
	"jianguo/internal/testbed"
)

// TestReplayIsTheFeed: a replay gives the verdicts of feeding the articles from one on to a
// service with the other policy; with the policy in force, those that were.
func TestReplayIsTheFeed(t *testing.T) {
	ctx := context.Background()
	copies := index.DefaultPolicy().At(verdict.Strictnesses[0])
	copies.Limits.News, copies.Limits.Little = 4, 1
	changed := 0
	seeds := testbed.Count(4, 20, 200)
	if testbed.Race { // nothing runs at the same time
		seeds = 2
	}
	for seed := range uint64(seeds) {
		r := rand.New(rand.NewPCG(seed, 9))
		p := &indextest.Press{Rand: r}
		const n = 150
		from := 1 + r.IntN(n-1)
		bodies := make([]string, n)
		for i := range bodies {
			bodies[i] = p.Write()
		}
		article := func(i int) index.Mutation {
			a := indextest.ArticleOf(fmt.Sprint("a", i), bodies[i])
			a.Source = fmt.Sprint("source", i%4)
			return index.Mutation{Seq: uint64(i + 1), At: indextest.Start.Add(time.Duration(i) * time.Minute), Article: a}
		}
		open := func(dir string, policy index.Policy) *index.Index {
			x, err := index.Open(ctx, index.Config{
				Dir: dir, Policy: &policy, Language: index.English, Relaxed: true, SweepEvery: -1,
				Normal: func(title, body string) compare.Text { return compare.Text{Body: body} },
			})
			if err != nil {
				t.Fatal(err)
			}
			for source, policy := range map[string]string{"source1": index.SourceLicensed, "source2": index.SourcePreferred} {
				if err := x.SetSourcePolicy(ctx, index.SourcePolicy{Source: source, Policy: policy, By: "张三"}); err != nil {
					t.Fatal(err)
				}
			}
			return x
		}
		feed := func(x *index.Index, from, to int) (said []string) {
			for i := from; i < to; i++ {
				out, err := x.Add(ctx, []index.Mutation{article(i)})
				if err != nil {
					t.Fatal(err)
				}
				e := out[0].Event
				said = append(said, fmt.Sprint(e.Verdict, " ", e.Rule, " ", e.Of, " ", e.Why))
			}
			return said
		}
		dir, other := t.TempDir(), t.TempDir()
		x := open(dir, index.DefaultPolicy())
		was := feed(x, 0, n)
		if err := x.Close(); err != nil {
			t.Fatal(err)
		}
		x = open(other, index.DefaultPolicy())
		feed(x, 0, from)
		if err := x.Close(); err != nil {
			t.Fatal(err)
		}
		x = open(other, copies)
		fed := feed(x, from, n)
		if err := x.Close(); err != nil {
			t.Fatal(err)
		}
		for _, try := range []struct {
			policy index.Policy
			want   []string
		}{{index.DefaultPolicy(), was[from:]}, {copies, fed}} {
			x := open(dir, try.policy)
			i := from
			err := Replay(ctx, x, article(from).At, func(it *index.Item) *index.Article {
				a := indextest.ArticleOf(it.ID, *it.Body)
				a.Source = it.Source
				return a
			}, func(one *Replayed) {
				e := one.Now
				if got := fmt.Sprint(e.Verdict, " ", e.Rule, " ", e.Of, " ", e.Why); got != try.want[i-from] {
					t.Fatalf("seed %d, %s: article %d of %d is\n%s, want\n%s", seed, try.policy.Strictness, i, from, got, try.want[i-from])
				}
				if one.Was.Verdict != e.Verdict {
					changed++
				}
				i++
			}, func(done, total int64) {
				if total != int64(n-from) || done != int64(i-from) {
					t.Fatalf("%d of %d are judged, want %d of %d", done, total, i-from, n-from)
				}
			})
			if err != nil || i != n {
				t.Fatalf("%d of %d are judged: %v", i-from, n-from, err)
			}
			_ = x.Close()
		}
	}
	if changed == 0 {
		t.Errorf("no verdict changed: this proves nothing")
	}
}
