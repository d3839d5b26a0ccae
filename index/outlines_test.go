package index

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"jianguo/sketch"
)

// TestOutlinesChangeNoVerdict: whoever is told for a stranger by its outline
// would have been judged unrelated, and what becomes of the others is what becomes
// of them when every sketch is read: with few places for texts and with many, and
// where all that is there is proposed.
func TestOutlinesChangeNoVerdict(t *testing.T) {
	ctx := context.Background()
	told, ranked := 0, 0
	for seed := range uint64(6) {
		open := func() *Index {
			return openTest(t, t.TempDir(), func(c *Config) {
				*c.Policy = DefaultPolicy()
				c.Policy.Judged, c.Policy.Texts = 40, []int{1, 3, 8}[seed%3]
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
				plain.versions.setOutline(ordinal, new(sketch.Outline))
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
			_, strangers := outlined.candidates(m.Article, proposals, at, nil)
			told += memory.strangers
			if memory.strangers < len(strangers) {
				ranked++
			}
			for _, c := range strangers {
				o, err := outlined.onSketch(ctx, outlined.beside, m.Article, &c.proposal, memory)
				if err != nil {
					t.Fatal(err)
				}
				if !o.hopeless(&outlined.policy) {
					t.Fatalf("ordinal %d was told for a stranger, and is judged %+v", c.proposal.ordinal, o)
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
	t.Logf("%d strangers told by outlines; their sketches were read after all for %d items", told, ranked)
	if told < 10_000 || ranked < 20 {
		t.Errorf("only %d strangers were told, and ranked for %d items: the world is too small", told, ranked)
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
	check := func() {
		t.Helper()
		for ordinal := uint32(1); ordinal < x.nextOrdinal; ordinal++ {
			got, want := x.versions.outline(ordinal), articles[ordinal].Sketch.Outline()
			if got != want {
				t.Fatalf("the outline of ordinal %d is %v, want %v", ordinal, got, want)
			}
		}
		if x.versions.outline(x.nextOrdinal) != (sketch.Outline{}) || x.versions.outline(1<<31) != (sketch.Outline{}) {
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
