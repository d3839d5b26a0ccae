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
			testbed.OK(t, err)
			for source, policy := range map[string]string{"source1": index.SourceLicensed, "source2": index.SourcePreferred} {
				if _, err := x.EditNow(ctx, &index.Edit{Source: &index.SourcePolicy{Source: source, Policy: policy, By: "张三"}}); err != nil {
					t.Fatal(err)
				}
			}
			return x
		}
		feed := func(x *index.Index, from, to int) (said []string) {
			for i := from; i < to; i++ {
				out, err := x.Add(ctx, []index.Mutation{article(i)})
				testbed.OK(t, err)
				e := out[0].Event
				said = append(said, fmt.Sprint(e.Verdict, " ", e.Rule, " ", e.Of, " ", e.Why))
			}
			return said
		}
		dir, other := t.TempDir(), t.TempDir()
		x := open(dir, index.DefaultPolicy())
		was := feed(x, 0, n)
		testbed.OK(t, x.Close())
		x = open(other, index.DefaultPolicy())
		feed(x, 0, from)
		testbed.OK(t, x.Close())
		x = open(other, copies)
		fed := feed(x, from, n)
		testbed.OK(t, x.Close())
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

// TestReplayWithDecisions: copies of an exempt text are accepted, and nothing is judged against a text that was withdrawn
// with promote, of whichever version of its item, or that an unrelated one replaced; the policy in force says what it
// said. A copy that came before the withdrawal has no earlier text now.
func TestReplayWithDecisions(t *testing.T) {
	ctx := context.Background()
	policy := index.DefaultPolicy()
	x, err := index.Open(ctx, index.Config{
		Dir: t.TempDir(), Policy: &policy, Language: index.English, Relaxed: true, SweepEvery: -1,
		Normal: func(title, body string) compare.Text { return compare.Text{Body: body} },
	})
	testbed.OK(t, err)
	defer func() { _ = x.Close() }()
	p := &indextest.Press{Rand: rand.New(rand.NewPCG(9, 9))}
	seq := uint64(0)
	add := func(m index.Mutation) index.Event {
		t.Helper()
		seq++
		m.Seq, m.At = seq, indextest.Start.Add(time.Duration(seq)*time.Minute)
		out, err := x.Add(ctx, []index.Mutation{m})
		if err != nil || !out[0].Changed {
			t.Fatalf("%+v, %v", out, err)
		}
		return out[0].Event
	}
	publish := func(id, body string, revision int64, want string) {
		t.Helper()
		a := indextest.ArticleOf(id, body)
		a.Revision = revision
		e := add(index.Mutation{Article: a})
		if got := fmt.Sprint(e.Verdict, " ", e.Rule, " ", e.Of); got != want {
			t.Fatalf("%s is %s, want %s", id, got, want)
		}
	}
	withdraw := func(id string, promote bool) {
		t.Helper()
		add(index.Mutation{Withdraw: &index.Withdrawal{ID: id, Promote: promote}})
	}
	text := func() string { return string(p.Words(200)) }

	body := text()
	publish("gone", body, 1, "unique  ")
	withdraw("gone", true)
	publish("again", body, 0, "unique  ")
	publish("gone", body, 2, "duplicate exact again")

	body = text()
	publish("revised", body, 0, "unique  ")
	publish("revised", body+"更正", 0, "unique  ")
	withdraw("revised", true)
	publish("as before", body, 0, "unique  ")

	body = text()
	publish("left", body, 0, "unique  ")
	publish("heir", body, 0, "duplicate exact left")
	withdraw("left", true)
	publish("after", body, 0, "duplicate exact heir")

	body = text()
	publish("taken down", body, 1, "unique  ")
	withdraw("taken down", false)
	publish("blocked", body, 0, "duplicate blocked taken down")
	publish("taken down", body+"更正", 2, "unique  ")
	publish("late", body, 0, "duplicate exact taken down")

	body = text()
	publish("replaced", body, 0, "unique  ")
	publish("replaced", text(), 0, "unique  ")
	publish("as replaced", body, 0, "unique  ")

	body = text()
	publish("exempt", body, 0, "unique  ")
	if _, err := x.EditNow(ctx, &index.Edit{Decision: &index.DecisionRequest{Kind: index.Exempt, Item: "exempt", By: "张三"}}); err != nil {
		t.Fatal(err)
	}
	publish("copy", body, 0, "unique exempt exempt")
	publish("another copy", body, 0, "unique exempt exempt")
	indextest.MustVerify(t, x)

	err = Replay(ctx, x, indextest.Start, func(it *index.Item) *index.Article { return indextest.ArticleOf(it.ID, *it.Body) },
		func(one *Replayed) {
			want := one.Was
			switch one.Was.ID {
			case "heir":
				want.Verdict, want.Rule, want.Of = index.Unique, 0, ""
			case "blocked": // the takedown was revoked
				want.Rule = index.ByExact
			}
			if now := one.Now; now.Verdict != want.Verdict || now.Rule != want.Rule || now.Of != want.Of {
				t.Errorf("%s is %s %s %s, want %s %s %s", now.ID, now.Verdict, now.Rule, now.Of, want.Verdict, want.Rule, want.Of)
			}
		}, func(done, total int64) {})
	testbed.OK(t, err)
}
