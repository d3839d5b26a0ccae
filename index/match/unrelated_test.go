package match_test

import (
	"context"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"jianguo/compare"
	"jianguo/index"
	"jianguo/index/indextest"
	"jianguo/index/match"
	"jianguo/internal/testbed"
)

// TestOutlinesChangeNoVerdict: an exemplar that is unrelated by its outline is also
// unrelated by its sketch. The verdict on an article is the same with outlines, with
// every sketch read, and without the unrelated proposals. This holds with low and high
// limits of judged proposals and of texts, and if every version is proposed.
func TestOutlinesChangeNoVerdict(t *testing.T) {
	skipped, related, copies := 0, 0, 0
	for seed := range uint64(6) {
		o := &outlinesTest{T: t, press: &indextest.Press{Rand: rand.New(rand.NewPCG(seed, 3))}, with: openOutlines(t, seed), without: openOutlines(t, seed)}
		for i := range testbed.Count(200, 300, 300) {
			m := o.press.Mutation(uint64(i + 1))
			o.add(m)
			if m.Article != nil {
				s, r, dup := o.judge(match.Query{Article: m.Article, At: uint32(m.At.Unix())})
				skipped += s
				related += r
				if dup {
					copies++
				}
			}
		}
		for _, x := range []*index.Index{o.with, o.without} {
			r, err := x.Verify(context.Background())
			if err != nil || len(r.Problems) > 0 {
				t.Fatal(err, r)
			}
			testbed.OK(t, x.Close())
		}
	}
	t.Logf("%d unrelated by their outlines, %d other proposals, %d articles copies", skipped, related, copies)
	if skipped < 10_000 || related < 1000 || copies < 100 {
		t.Errorf("only %d proposals were unrelated by their outlines, %d were not, %d articles were copies: this proves little", skipped, related, copies)
	}
}

func openOutlines(t *testing.T, seed uint64) *index.Index {
	t.Helper()
	p := index.DefaultPolicy()
	p.Judged, p.Texts, p.Work = []int{2, 40, 5}[seed%3], []int{1, 3, 8}[seed%3], []int{1 << 18, 0, 1000}[seed%3]
	x, err := index.Open(context.Background(), index.Config{Dir: t.TempDir(), Policy: &p, Language: index.English, Relaxed: true,
		Normal: func(title, body string) compare.Text { return compare.Text{Title: title, Body: body} }})
	testbed.OK(t, err)
	return x
}

type outlinesTest struct {
	*testing.T
	press         *indextest.Press
	with, without *index.Index
	versions      uint32
}

// add applies a mutation to both and compares their outcomes.
func (t *outlinesTest) add(m index.Mutation) {
	t.Helper()
	var outcomes [2][]index.Outcome
	for k, x := range []*index.Index{t.with, t.without} {
		var err error
		if outcomes[k], err = x.Add(context.Background(), []index.Mutation{m}); err != nil {
			t.Fatal(err)
		}
	}
	p := t.without.Probe()
	for t.versions = 0; p.Rows.Flags(t.versions+1) != 0; t.versions++ {
		p.Rows.SetOutline(t.versions+1, new(compare.Outline))
	}
	if diff := cmp.Diff(outcomes[1], outcomes[0]); diff != "" {
		t.Fatalf("sequence %d (-every sketch read +outlines):\n%s", m.Seq, diff)
	}
}

// judge proposes every version for an article: a search in a small corpus finds
// few that are unrelated.
func (t *outlinesTest) judge(q match.Query) (skipped, related int, duplicate bool) {
	ctx, r := context.Background(), t.press.Rand
	var proposals []match.Proposal
	for _, i := range r.Perm(int(t.versions)) {
		proposals = append(proposals, match.Proposal{Ordinal: uint32(i) + 1, Rule: index.ByMargin, S: r.Float32()})
	}
	with, without := t.with.Probe(), t.without.Probe()
	c := match.NewComparing(with.Matcher, with.Reader, &q)
	judge := func(c *match.Comparing, proposals []match.Proposal) match.Judgement {
		j, err := c.Judge(ctx, proposals)
		testbed.OK(t, err)
		return j
	}
	got := judge(c, proposals)
	same := func(what string, want match.Judgement) {
		if diff := cmp.Diff(want, got); diff != "" {
			t.Fatalf("item %q (-%s +outlines):\n%s", q.Article.ID, what, diff)
		}
	}
	same("every sketch read", judge(match.NewComparing(without.Matcher, without.Reader, &q), proposals))
	unrelated := c.Unrelated(proposals)
	known := slices.DeleteFunc(slices.Clone(proposals), func(p match.Proposal) bool { return slices.Contains(unrelated, p.Ordinal) })
	same("unrelated not proposed", judge(match.NewComparing(with.Matcher, with.Reader, &q), known))
	same("cached", judge(c, proposals))
	for _, ordinal := range unrelated {
		agreed, err := c.Sketch(ctx, match.Proposal{Ordinal: ordinal, Rule: index.ByMargin, S: r.Float32()})
		testbed.OK(t, err)
		if !agreed {
			t.Fatalf("ordinal %d is unrelated by its outline, and not by its sketch", ordinal)
		}
	}
	return len(unrelated), len(known), got.Verdict == index.Duplicate
}
