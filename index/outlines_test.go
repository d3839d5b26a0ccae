package index

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"jianguo/sketch"
)

// TestStrangersChangeNoVerdict: whoever is told for a stranger by its outline
// would have been judged unrelated, and what becomes of the others is what becomes
// of them when every sketch is read, and when no stranger is proposed: with few
// places to be judged in and for texts and with many, and where all that is there is
// proposed.
func TestStrangersChangeNoVerdict(t *testing.T) {
	ctx := context.Background()
	told, related, copies := 0, 0, 0
	for seed := range uint64(6) {
		open := func() *Index {
			return openTest(t, t.TempDir(), func(c *Config) {
				*c.Policy = DefaultPolicy()
				c.Policy.Judged, c.Policy.Texts = []int{2, 40, 5}[seed%3], []int{1, 3, 8}[seed%3]
				if seed%2 > 0 { // strangers look likely
					th := &c.Policy.Thresholds
					th.CopySketch, th.Doubt = sketch.Weights{Bias: 1}, .8
					th.CopySketch.Of[sketch.Resembles] = -4
				}
				c.Durability = DurabilityRelaxed
				c.Normal = func(title, body string) sketch.Input { return sketch.Input{Title: title, Body: body} }
			})
		}
		outlined, plain := open(), open()
		p := &press{r: rand.New(rand.NewPCG(seed, 3))}
		for i := range 300 {
			m := p.mutation(uint64(i + 1))
			var outcomes [2][]Outcome
			for k, x := range []*Index{outlined, plain} {
				var err error
				if outcomes[k], err = x.Add(ctx, []Mutation{m}); err != nil {
					t.Fatal(err)
				}
			}
			for ordinal := range plain.nextOrdinal {
				plain.rows.SetOutline(ordinal, new(sketch.Outline))
			}
			if diff := cmp.Diff(outcomes[1], outcomes[0]); diff != "" {
				t.Fatalf("seed %d, item %d (-every sketch read +outlines):\n%s", seed, i, diff)
			}
			if m.Article == nil {
				continue
			}
			// A search finds few strangers in a small world: anything is proposed.
			at := seconds(m.At)
			var proposals []proposal
			for _, ordinal := range p.r.Perm(int(outlined.nextOrdinal) - 1) {
				proposals = append(proposals, proposal{ordinal: uint32(ordinal) + 1, rule: ByMargin, s: p.r.Float32()})
			}
			memory := new(memo)
			got, err := outlined.judgeAll(ctx, outlined.beside, m.Article, proposals, at, nil, memory)
			if err != nil {
				t.Fatal(err)
			}
			want, err := plain.judgeAll(ctx, plain.beside, m.Article, proposals, at, nil, new(memo))
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(want, got, cmp.AllowUnexported(judgement{})); diff != "" {
				t.Fatalf("seed %d, item %d (-every sketch read +outlines):\n%s", seed, i, diff)
			}
			known := slices.DeleteFunc(slices.Clone(proposals), func(p proposal) bool { return slices.Contains(memory.strangers, p.ordinal) })
			alone, err := outlined.judgeAll(ctx, outlined.beside, m.Article, known, at, nil, new(memo))
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(alone, got, cmp.AllowUnexported(judgement{})); diff != "" {
				t.Fatalf("seed %d, item %d (-no strangers +strangers):\n%s", seed, i, diff)
			}
			again, err := outlined.judgeAll(ctx, outlined.beside, m.Article, proposals, at, nil, memory)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(got, again, cmp.AllowUnexported(judgement{})); diff != "" {
				t.Fatalf("seed %d, item %d (-first +remembered):\n%s", seed, i, diff)
			}
			told += len(memory.strangers)
			if related += len(known); got.verdict == Duplicate {
				copies++
			}
			for _, ordinal := range memory.strangers {
				o, err := outlined.onSketch(ctx, outlined.beside, m.Article, &proposal{ordinal: ordinal, rule: ByMargin, s: p.r.Float32()}, memory)
				if err != nil {
					t.Fatal(err)
				}
				if o.judgement.Kind != sketch.Unrelated || !o.unrelated(&outlined.policy) {
					t.Fatalf("ordinal %d was told for a stranger, and is judged %+v", ordinal, o)
				}
			}
		}
		for _, x := range []*Index{outlined, plain} {
			mustVerify(t, x)
			if err := x.Close(); err != nil {
				t.Fatal(err)
			}
		}
	}
	t.Logf("%d strangers told by outlines, %d proposals others, %d articles copies", told, related, copies)
	if told < 10_000 || related < 1000 || copies < 100 {
		t.Errorf("only %d strangers were told, %d proposals were others, %d articles copies: the world is too small", told, related, copies)
	}
}

// TestOutlinesFollowTheRows: through failed batches and restarts, the outlines
// that are there are those of the rows, and in the end all are.
func TestOutlinesFollowTheRows(t *testing.T) {
	ctx := context.Background()
	dir := t.TempDir()
	failing := false
	open := func() *Index {
		return openTest(t, dir, func(c *Config) {
			c.Durability = DurabilityRelaxed
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
	p := &press{r: r}
	articles := map[uint32]*Article{}
	outlined := func(ordinal uint32) bool { _, ok := x.rows.Outline(ordinal); return ok }
	check := func() {
		t.Helper()
		for ordinal := uint32(1); ordinal < x.nextOrdinal; ordinal++ {
			got, _ := x.rows.Outline(ordinal)
			want := articles[ordinal].Sketch.Outline()
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
			batch = append(batch, Mutation{Seq: seq, At: testStart.Add(time.Duration(seq) * time.Minute), Article: textArticle(fmt.Sprint("i", seq), p.write())})
		}
		if failing = r.IntN(4) == 0; failing {
			if _, err := x.Add(ctx, batch); err == nil {
				t.Fatal("a failed commit was reported as done")
			}
			failing = false
			batch[0].Article = textArticle("other", p.write())
		}
		first := x.nextOrdinal
		outcomes, err := x.Add(ctx, batch)
		if err != nil {
			t.Fatal(err)
		}
		for k := range batch {
			if outcomes[k].Changed {
				articles[first] = batch[k].Article
				first++
			}
		}
		check()
		if i%30 == 29 {
			if err := x.Close(); err != nil {
				t.Fatal(err)
			}
			x = open()
			<-x.Probe().Outlined()
			check()
		}
	}
	mustVerify(t, x)
	if err := x.Close(); err != nil {
		t.Fatal(err)
	}
}
