package index

import (
	"context"
	"fmt"
	"maps"
	"math/rand/v2"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"jianguo/compare"
	"jianguo/index/indextest"
	"jianguo/index/verdict"
	"jianguo/internal/testbed"
)

func openTexts(t *testing.T, dir string, flood int) *Index {
	return openTest(t, dir, func(c *Config) {
		*c.Policy, c.Relaxed, c.SweepEvery = DefaultPolicy(), true, -1
		c.Policy.Flood = flood
		c.Normal = func(title, body string) compare.Text { return compare.Text{Body: body} }
	})
}

// TestExempt: what is said of an exempt text, and of its copies, before the decision, after it,
// after a restart, and after its undo.
func TestExempt(t *testing.T) {
	ctx := context.Background()
	dir := t.TempDir()
	x := openTexts(t, dir, 0)
	p := &indextest.Press{Rand: rand.New(rand.NewPCG(1, 2))}
	notice := "本" + string(p.Words(160)) + "声明"
	copied := notice + "特此"
	seq := 0
	add := func(body string) string {
		t.Helper()
		seq++
		id := fmt.Sprint("n", seq)
		out := put(t, x, Mutation{Seq: uint64(seq), At: indextest.Start.Add(time.Duration(seq) * time.Minute), Article: indextest.ArticleOf(id, body)})
		e := out[0].Event
		mustVerify(t, x)
		return fmt.Sprintf("%s %s %s", e.Verdict, e.Rule, e.Of)
	}
	is := func(body, want string) {
		t.Helper()
		if got := add(body); got != want {
			t.Errorf("n%d is %s, want %s", seq, got, want)
		}
	}
	is(notice, "unique  ")
	is(notice, "duplicate exact n1")
	d, err := x.Decide(ctx, DecisionRequest{Kind: Exempt, Item: "n1", By: "张三", Reason: "法律声明"})
	testbed.OK(t, err)
	if _, err := x.Decide(ctx, DecisionRequest{Kind: Exempt, Cluster: d.Cluster, By: "张三"}); err == nil || !strings.Contains(err.Error(), "exempt already") {
		t.Errorf("a second time: %v", err)
	}
	for range 2 {
		is(notice, "unique exempt n1")
		is(copied, "unique exempt n1")
		is(copied, "unique exempt n1")
		testbed.OK(t, x.Close())
		x = openTexts(t, dir, 0)
		list, err := x.Exemptions(ctx, 10)
		if err != nil || len(list) != 1 || list[0].Number != d.Number || list[0].Reason != "法律声明" {
			t.Errorf("%+v, %v", list, err)
		}
	}
	if _, err := x.Decide(ctx, DecisionRequest{Kind: Undo, Undo: d.Number, By: "张三"}); err != nil {
		t.Fatal(err)
	}
	is(notice, "duplicate exact n1")
	if got := add(copied); !strings.HasPrefix(got, "duplicate ") || !strings.HasSuffix(got, " n1") {
		t.Errorf("after the undo, the copy is %s", got)
	}
	if list, err := x.Exemptions(ctx, 10); err != nil || len(list) != 0 {
		t.Errorf("%+v, %v", list, err)
	}
	testbed.OK(t, x.Close())
}

// TestFlood: a text is set aside at the suspect that a count of all suspects of its minute says, 10 s after the first,
// whatever the batches and restarts; from then on it meets no suspects, until that is undone.
func TestFlood(t *testing.T) {
	ctx := context.Background()
	const limit, n = 3, 120
	asides := 0
	for seed := range testbed.Sequential(make([]bool, testbed.Count(2, 10, 200))) { // nothing runs at the same time
		r := rand.New(rand.NewPCG(uint64(seed), 5))
		p := &indextest.Press{Rand: r}
		var origins []string
		for range 3 {
			origins = append(origins, string(p.Words(200)))
		}
		var stream []Mutation
		at := indextest.Start
		for i := range n {
			at = at.Add(time.Duration(r.IntN(6)) * time.Second)
			body := origins[r.IntN(3)]
			if i > 3 && r.IntN(8) > 0 {
				body += string(p.Words(150 + r.IntN(150))) // it adds something
			}
			stream = append(stream, Mutation{Seq: uint64(i + 1), At: at, Article: indextest.ArticleOf(fmt.Sprint("a", i), body)})
		}
		run := func(batches bool) (said []string, decisions []string) {
			dir := t.TempDir()
			x := openTexts(t, dir, limit)
			for from := 0; from < n; {
				to := from + 1
				if batches {
					to = min(n, from+1+r.IntN(9))
				}
				part := make([]Mutation, 0, to-from)
				for _, m := range stream[from:to] {
					a := *m.Article
					m.Article = &a
					part = append(part, m)
				}
				out := put(t, x, part...)
				for _, o := range out {
					said = append(said, fmt.Sprintf("%s %s %s %s %d", o.Event.ID, o.Event.Verdict, o.Event.Rule, o.Event.Of, o.Event.At.Unix()))
				}
				if from = to; batches && r.IntN(6) == 0 {
					testbed.OK(t, x.Close())
					x = openTexts(t, dir, limit)
				}
			}
			list, err := x.Exemptions(ctx, 100)
			testbed.OK(t, err)
			for _, d := range list {
				decisions = append(decisions, d.Item+" "+d.Reason)
			}
			mustVerify(t, x)
			testbed.OK(t, x.Close())
			return said, decisions
		}
		said, decisions := run(false)
		again, decisionsAgain := run(true)
		if diff := cmp.Diff(said, again) + cmp.Diff(decisions, decisionsAgain); diff != "" {
			t.Fatalf("seed %d: one by one and in batches with restarts:\n%s", seed, diff)
		}
		// Brute force over what was said.
		counts, first, aside := map[string]int{}, map[string]int{}, map[string]bool{}
		for _, line := range said {
			f := strings.Split(line, " ")
			of := f[3]
			if f[1] == Suspect.String() {
				if aside[of] {
					t.Fatalf("seed %d: %s, and that was set aside", seed, line)
				}
				at, _ := strconv.Atoi(f[4])
				met := fmt.Sprint(of, at/60)
				if counts[met]++; counts[met] == 1 {
					first[met] = at
				}
				aside[of] = counts[met] >= limit && at-first[met] >= 10
			}
			if f[2] == verdict.ByAside.String() && (!aside[of] || f[1] != Unique.String()) {
				t.Fatalf("seed %d: %s, and that was not set aside", seed, line)
			}
		}
		maps.DeleteFunc(aside, func(_ string, is bool) bool { return !is })
		if len(aside) != len(decisions) {
			t.Fatalf("seed %d: set aside were %v, want %v", seed, decisions, aside)
		}
		asides += len(aside)
	}
	if asides == 0 {
		t.Error("nothing was set aside: this proves nothing")
	}
}

// TestFloodOfBlocked: a blocked text that meets too many suspects is set aside once, and meets no more.
func TestFloodOfBlocked(t *testing.T) {
	x, p := openTexts(t, t.TempDir(), 3), &indextest.Press{Rand: rand.New(rand.NewPCG(3, 4))}
	defer func() { _ = x.Close() }()
	origin, said := string(p.Words(200)), map[string]int{}
	for i := range 20 {
		body := origin
		if i > 0 {
			body += string(p.Words(200))
		}
		out, err := x.Add(context.Background(), []Mutation{{Seq: uint64(i + 1),
			At: indextest.Start.Add(time.Duration(5*i) * time.Second), Article: indextest.ArticleOf(fmt.Sprint("a", i), body)}})
		testbed.OK(t, err)
		said[fmt.Sprint(out[0].Event.Verdict, " ", out[0].Event.Rule)]++
		if i == 0 {
			decideTest(t, x, DecisionRequest{Kind: Block, Item: "a0"})
		}
	}
	list, err := x.Exemptions(context.Background(), 100)
	if err != nil || len(list) != 1 || said["unique aside"] < 10 {
		t.Errorf("set aside %d times, %v: %v", len(list), said, err)
	}
	mustVerify(t, x)
}

// TestFloodOfOne: neither revisions of one id nor the articles of another source set a text aside, nor do those that
// come at once, also across a restart.
func TestFloodOfOne(t *testing.T) {
	const limit = 3
	dir, p := t.TempDir(), &indextest.Press{Rand: rand.New(rand.NewPCG(3, 4))}
	x := openTexts(t, dir, limit)
	origin, seq := string(p.Words(200)), 0
	at := indextest.Start
	add := func(id, source, body string) {
		t.Helper()
		seq++
		a := indextest.ArticleOf(id, body)
		a.Source = source
		put(t, x, Mutation{Seq: uint64(seq), At: at, Article: a})
		if seq%2 == 0 {
			testbed.OK(t, x.Close())
			x = openTexts(t, dir, limit)
		}
	}
	add("origin", "agency", origin)
	for _, c := range []struct {
		why   string
		ids   []string
		from  string
		aside int
	}{
		{"revisions of one id", []string{"r", "r", "r", "r", "r"}, "agency", 0},
		{"articles of another source", []string{"a", "b", "c", "d"}, "other", 0},
		{"its own articles at once", []string{"e", "f", "g"}, "agency", 0},
		{"and one ten seconds later", []string{"h"}, "agency", 1},
	} {
		if at = at.Add(10 * time.Second); c.aside == 0 { // a minute of its own
			at = at.Truncate(time.Minute).Add(time.Minute)
		}
		for _, id := range c.ids {
			if add(id, c.from, origin+string(p.Words(200))); c.why != "its own articles at once" {
				at = at.Add(4 * time.Second)
			}
		}
		if list, err := x.Exemptions(t.Context(), 9); err != nil || len(list) != c.aside {
			t.Errorf("%s: %v %v", c.why, list, err)
		}
	}
	mustVerify(t, x)
	testbed.OK(t, x.Close())
}

// TestFloodFirst: the first suspect of a minute is the same before and after a restart, also where its source has sent
// another one since, which does not count.
func TestFloodFirst(t *testing.T) {
	dir, p := t.TempDir(), &indextest.Press{Rand: rand.New(rand.NewPCG(3, 4))}
	x := openTexts(t, dir, 2)
	origin, start := string(p.Words(200)), indextest.Start.Truncate(time.Minute)
	for seq, c := range []struct {
		source string
		after  time.Duration
	}{{"agency", 0}, {"b", 0}, {"b", 12 * time.Second}, {"c", 15 * time.Second}} {
		if c.source == "c" {
			testbed.OK(t, x.Close())
			x = openTexts(t, dir, 2)
		}
		a := indextest.ArticleOf(fmt.Sprint("a", seq), origin+string(p.Words(min(seq, 1)*200)))
		a.Source = c.source
		put(t, x, Mutation{Seq: uint64(seq + 1), At: start.Add(c.after), Article: a})
	}
	if list, err := x.Exemptions(t.Context(), 9); err != nil || len(list) != 1 {
		t.Errorf("two sources, 15 s apart: set aside were %v, %v", list, err)
	}
	mustVerify(t, x)
	testbed.OK(t, x.Close())
}
