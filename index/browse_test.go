package index

import (
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"
)

func openBrowse(t testing.TB, x *Index) *Browse {
	t.Helper()
	b, err := x.OpenBrowse(context.Background(), BrowseConfig{Words: func(title, body string) []string { return strings.Fields(title + " " + body) }})
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// dump is what a Browse holds, but for how its words are spread over segments.
func dump(t tester, b *Browse) map[string][]string {
	t.Helper()
	out := map[string][]string{}
	for table, columns := range map[string]string{"stories": "cluster, lead, original, size, sources, rules, first_at, last_at, round(heat, 6), round(pull, 6), hex(spark)",
		"story_sources": "*", "story_rules": "*", "hours": "*", "source_days": "*", "pairs": "*", "pairings": "*", "delays": "*", "families": "*", "licensed": "*", "queue": "*", "rejected": "*"} {
		rows, err := b.reader.Query(`SELECT ` + columns + ` FROM ` + table + ` ORDER BY 1, 2`)
		if err != nil {
			t.Fatal(err)
		}
		names, err := rows.Columns()
		if err != nil {
			t.Fatal(err)
		}
		for rows.Next() {
			values := make([]any, len(names))
			for i := range values {
				values[i] = new(any)
			}
			if err := rows.Scan(values...); err != nil {
				t.Fatal(err)
			}
			var line []string
			for _, v := range values {
				line = append(line, fmt.Sprint(*v.(*any)))
			}
			out[table] = append(out[table], strings.Join(line, " "))
		}
		if err := rows.Err(); err != nil {
			t.Fatal(err)
		}
	}
	return out
}

// drawDecision makes a decision about anything, fitting or not.
func drawDecision(rt *rapid.T, seq uint64) DecisionRequest {
	return DecisionRequest{
		Kind:    rapid.SampledFrom([]string{Release, Reject, Block, Merge, MakeLead, Undo}).Draw(rt, "decision"),
		Item:    fmt.Sprintf("id%d", rapid.IntRange(0, 7).Draw(rt, "item")),
		Cluster: uint32(rapid.IntRange(1, 20).Draw(rt, "cluster")), Into: uint32(rapid.IntRange(1, 20).Draw(rt, "into")),
		Undo: uint64(rapid.IntRange(1, 10).Draw(rt, "undo")), By: "editor", At: testStart.Add(time.Duration(seq) * time.Second),
	}
}

// TestBrowseFollows: however events and the follower interleave, what it holds
// is what a new one makes of the whole log, and its stories are the clusters.
func TestBrowseFollows(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		ctx := context.Background()
		dir, err := os.MkdirTemp(t.TempDir(), "browse")
		if err != nil {
			rt.Fatal(err)
		}
		x := openTest(t, dir, func(c *Config) { c.Durability = DurabilityRelaxed })
		defer func() { _ = x.Close() }()
		for source, policy := range map[string]string{"source1": SourceLicensed, "source2": SourcePreferred} {
			if err := x.SetSourcePolicy(ctx, SourcePolicy{Source: source, Policy: policy, By: "editor"}); err != nil {
				rt.Fatal(err)
			}
		}
		b := openBrowse(t, x)
		seq := uint64(0)
		for range rapid.IntRange(1, 15).Draw(rt, "steps") {
			for range rapid.IntRange(1, 6).Draw(rt, "size") {
				seq++
				m := drawMutation(rt, seq)
				if m.Article != nil {
					m.Article.Source = fmt.Sprintf("source%d", rapid.IntRange(0, 3).Draw(rt, "source"))
					m.Article.Published = m.At.Add(-time.Duration(rapid.IntRange(0, 5000).Draw(rt, "age")) * time.Second)
				}
				if _, err := x.Add(ctx, []Mutation{m}); err != nil {
					rt.Fatal(err)
				}
			}
			if rapid.Bool().Draw(rt, "decide") {
				_, err := x.Decide(ctx, drawDecision(rt, seq))
				var conflict *ConflictError
				if err != nil && !errors.Is(err, ErrQuery) && !errors.Is(err, ErrNotFound) && !errors.As(err, &conflict) {
					rt.Fatal(err)
				}
			}
			if rapid.Bool().Draw(rt, "follow") {
				if err := b.Follow(ctx); err != nil {
					rt.Fatal(err)
				}
			}
		}
		b.slow = time.Time{}
		if err := b.Follow(ctx); err != nil {
			rt.Fatal(err)
		}
		got := dump(rt, b)
		holdStories(rt, x, b)
		if err := b.Close(); err != nil {
			rt.Fatal(err)
		}
		if err := os.Remove(filepath.Join(dir, BrowseFileName)); err != nil {
			rt.Fatal(err)
		}
		b = openBrowse(t, x)
		defer func() { _ = b.Close() }()
		if err := b.Follow(ctx); err != nil {
			rt.Fatal(err)
		}
		for table, want := range dump(rt, b) {
			if !slices.Equal(got[table], want) {
				rt.Errorf("%s: followed step by step:\n%s\nmade anew:\n%s", table, strings.Join(got[table], "\n"), strings.Join(want, "\n"))
			}
		}
	})
}

// holdStories holds the list of stories against the clusters themselves, and
// paging against the whole list.
func holdStories(rt *rapid.T, x *Index, b *Browse) {
	ctx := context.Background()
	want := map[uint32]int{}
	for id := uint32(1); id < x.nextOrdinal; id++ {
		c, err := x.Cluster(ctx, id)
		if errors.Is(err, ErrNotFound) {
			continue
		}
		if err != nil {
			rt.Fatal(err)
		}
		if c.ID == id && len(c.Members) > 1 {
			want[id] = len(c.Members)
		}
	}
	for _, sort := range []string{"heat", "last", "first", "size"} {
		got := map[uint32]int{}
		for cursor, pages := "", 0; ; pages++ {
			page, err := b.Stories(ctx, StoryQuery{Sort: sort, Cursor: cursor, Limit: 2})
			if err != nil {
				rt.Fatal(err)
			}
			for _, s := range page.Stories {
				if got[s.ID] != 0 {
					rt.Fatalf("story %d is listed twice by %s", s.ID, sort)
				}
				got[s.ID] = s.Size
				v, err := b.Story(ctx, s.ID, 0, 100)
				if err != nil || v.Size != s.Size {
					rt.Fatalf("story %d has %d members on its page, %d in the list: %v", s.ID, v.Size, s.Size, err)
				}
			}
			if cursor = page.Next; cursor == "" || pages > 50 {
				break
			}
		}
		if fmt.Sprint(got) != fmt.Sprint(want) {
			rt.Fatalf("stories by %s: %v, the clusters are %v", sort, got, want)
		}
	}
}

// TestSearch holds the word index against a scan, over segments of all ages.
func TestSearch(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		ctx := context.Background()
		dir, err := os.MkdirTemp(t.TempDir(), "search")
		if err != nil {
			rt.Fatal(err)
		}
		x := openTest(t, dir, func(c *Config) { c.Durability = DurabilityRelaxed })
		defer func() { _ = x.Close() }()
		b := openBrowse(t, x)
		defer func() { _ = b.Close() }()
		word := rapid.SampledFrom([]string{"台风", "登陆", "法院", "鱼塘", "地铁"})
		var titles []string
		for seq := range rapid.IntRange(1, 80).Draw(rt, "items") {
			title := strings.Join(rapid.SliceOfN(word, 1, 4).Draw(rt, "title"), " ")
			titles = append(titles, title)
			a := article(fmt.Sprint(seq), "", 0)
			a.Title, a.URL = title, fmt.Sprintf("https://www.example.cn/%d/?utm_source=x", seq)
			if _, err := x.Add(ctx, []Mutation{{Seq: uint64(seq + 1), At: testStart, Article: a}}); err != nil {
				rt.Fatal(err)
			}
			if rapid.IntRange(0, 2).Draw(rt, "follow") > 0 {
				if err := b.Follow(ctx); err != nil {
					rt.Fatal(err)
				}
			}
		}
		if err := b.Follow(ctx); err != nil {
			rt.Fatal(err)
		}
		words := rapid.SliceOfN(word, 1, 3).Draw(rt, "words")
		limit := rapid.IntRange(1, 90).Draw(rt, "limit")
		var want []uint32
		for i := len(titles) - 1; i >= 0 && len(want) < limit; i-- {
			if !slices.ContainsFunc(words, func(w string) bool { return !strings.Contains(titles[i], w) }) {
				want = append(want, uint32(i+1))
			}
		}
		got, err := b.Search(ctx, words, limit)
		if err != nil || !slices.Equal(got, want) {
			rt.Fatalf("%v: found %v, want %v, %v", words, got, want, err)
		}
		at := rapid.IntRange(0, len(titles)-1).Draw(rt, "address")
		got, err = b.Search(ctx, []string{URLWord(fmt.Sprintf("http://example.cn/%d", at))}, 5)
		if err != nil || !slices.Equal(got, []uint32{uint32(at + 1)}) {
			rt.Fatalf("address %d: found %v, %v", at, got, err)
		}
	})
}

// TestPrecision: the interval is Wilson's; values from Newcombe (1998), table I.
func TestPrecision(t *testing.T) {
	for _, c := range []struct {
		right, wrong int
		low, high    float64
	}{{81, 263 - 81, 0.2553, 0.3662}, {15, 148 - 15, 0.0624, 0.1605}, {0, 20, 0, 0.1611}, {1, 28, 0.0061, 0.1718}} {
		p := newPrecision(time.Time{}, c.right, c.wrong)
		if math.Abs(p.Low-c.low) > 5e-5 || math.Abs(p.High-c.high) > 5e-5 {
			t.Errorf("%d of %d: %.4f to %.4f, want %.4f to %.4f", c.right, c.right+c.wrong, p.Low, p.High, c.low, c.high)
		}
	}
	if p := newPrecision(time.Time{}, 0, 0); !math.IsNaN(p.Share) {
		t.Error("nothing was measured, and yet there is a share")
	}
}

// TestReviewsAndPolicies: the last word holds, in a way that survives.
func TestReviewsAndPolicies(t *testing.T) {
	ctx := context.Background()
	dir := t.TempDir()
	x := openTest(t, dir, nil)
	add := func(seq uint64, id string, flips uint64) {
		t.Helper()
		if _, err := x.Add(ctx, []Mutation{{Seq: seq, At: testStart, Article: article(id, id, 0xf0f0f0f0f0f0f0f0^flips)}}); err != nil {
			t.Fatal(err)
		}
	}
	add(1, "lead", 0)
	add(2, "copy", 1)
	add(3, "other", 3)
	for _, r := range []Review{
		{Item: "copy", Drawn: DrawnRandom, Finding: FoundWrong, By: "a", At: testStart},
		{Item: "copy", Drawn: DrawnRandom, Finding: FoundRight, By: "b", At: testStart.Add(time.Hour)},
		{Item: "other", Drawn: DrawnDoubt, Finding: FoundWrong, By: "b", At: testStart},
	} {
		if err := x.Confirm(ctx, r); err != nil {
			t.Fatal(err)
		}
	}
	if err := x.Confirm(ctx, Review{Item: "nobody", Drawn: DrawnRandom, Finding: FoundRight, By: "a"}); !errors.Is(err, ErrNotFound) {
		t.Errorf("a review of nothing: %v", err)
	}
	if err := x.Confirm(ctx, Review{Item: "copy", Drawn: "otherwise", Finding: FoundRight, By: "a"}); !errors.Is(err, ErrQuery) {
		t.Errorf("a review drawn otherwise: %v", err)
	}
	for _, p := range []string{SourceLicensed, SourceLicensed, SourceWatched} {
		if err := x.SetSourcePolicy(ctx, SourcePolicy{Source: "s", Policy: p, By: "a"}); err != nil {
			t.Fatal(err)
		}
	}
	if err := x.SetSourcePolicy(ctx, SourcePolicy{Source: "s", Policy: "loved", By: "a"}); !errors.Is(err, ErrQuery) {
		t.Errorf("a policy that is none: %v", err)
	}
	if err := x.Close(); err != nil {
		t.Fatal(err)
	}
	x = openTest(t, dir, nil)
	defer func() { _ = x.Close() }()
	b := openBrowse(t, x)
	defer func() { _ = b.Close() }()
	all, weeks, err := b.Precision(ctx)
	if err != nil || all.Right != 1 || all.Wrong != 0 || len(weeks) != 1 || weeks[0].Since.Weekday() != time.Monday {
		t.Errorf("precision %+v, %+v, %v", all, weeks, err)
	}
	log, err := x.SourcePolicyLog(ctx, 10)
	if err != nil || len(log) != 2 {
		t.Errorf("policies %+v, %v", log, err)
	}
	labels, err := x.Labels(ctx)
	if err != nil || fmt.Sprint(labels) != "[{lead other different b } {lead copy same b }]" {
		t.Errorf("labels %v, %v", labels, err)
	}
	mustVerify(t, x)
}
