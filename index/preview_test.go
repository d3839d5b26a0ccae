package index

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus/testutil"
	"github.com/zeebo/xxh3"

	"jianguo/index/bands"
	"jianguo/simhash"
	"jianguo/sketch"
)

// press writes the stories of a small world: families of bulletins, reprints
// that are edited, excerpts, short flashes.
type press struct {
	r       *rand.Rand
	stories [][]rune
	ids     []string
}

func (p *press) words(n int) []rune {
	out := make([]rune, n)
	for i := range out {
		out[i] = rune(0x4e00 + p.r.IntN(600))
	}
	return out
}

// write returns a text: a new story, or one made of an old one.
func (p *press) write() string {
	if len(p.stories) == 0 || p.r.IntN(4) == 0 {
		p.stories = append(p.stories, p.words([]int{20, 60, 150, 300}[p.r.IntN(4)]))
		return string(p.stories[len(p.stories)-1])
	}
	// The first few stories are the families.
	s := p.stories[p.r.IntN(min(len(p.stories), 1+p.r.IntN(len(p.stories))))]
	out := append([]rune{}, s...)
	switch p.r.IntN(5) {
	case 0: // the same but for its form
	case 1:
		for range 1 + p.r.IntN(len(out)/10+1) {
			out[p.r.IntN(len(out))] = rune(0x4e00 + p.r.IntN(600))
		}
	case 2:
		out = append(out[len(out)/3:], p.words(len(out)/3)...)
	default: // other figures in the same words
		for range 5 {
			at := p.r.IntN(len(out))
			out = append(out[:at:at], append([]rune(fmt.Sprint(p.r.IntN(40))), out[at:]...)...)
		}
	}
	return string(out)
}

func (p *press) mutation(seq uint64) Mutation {
	m := Mutation{Seq: seq, At: testStart.Add(time.Duration(seq) * time.Minute)}
	if len(p.ids) > 5 && p.r.IntN(25) == 0 {
		m.Withdraw = &Withdrawal{ID: p.ids[p.r.IntN(len(p.ids))], Promote: p.r.IntN(2) > 0}
		return m
	}
	id := fmt.Sprint("i", seq)
	if len(p.ids) > 5 && p.r.IntN(9) == 0 {
		id = p.ids[p.r.IntN(len(p.ids))] // a revision
	}
	p.ids = append(p.ids, id)
	m.Article = textArticle(id, p.write())
	return m
}

// textArticle is an article as ingest would make it, with simple features.
func textArticle(id, body string) *Article {
	a := &Article{ID: id, Title: "t", Packed: PackText(body), Text: sketch.Input{Body: body}}
	sum := sha256.Sum256([]byte(body))
	copy(a.Exact[:], sum[:])
	var s simhash.Sum
	runes := []rune(body)
	for i := range len(runes) - 1 {
		s.Add(xxh3.HashString(string(runes[i:i+2])), 1)
	}
	a.Print = s.Print()
	a.Sketch = sketch.Make(a.Text)
	return a
}

// worldly opens an index with bounds so tight that a small world meets them.
func worldly(t *testing.T, full int, fail func(string) error) *Index {
	x := openTest(t, t.TempDir(), func(c *Config) {
		*c.Policy = DefaultPolicy()
		c.Policy.Judged, c.Policy.Passages, c.Policy.Texts = 3, 2, 2
		c.Policy.Window, c.Policy.Cap = 3*time.Hour, 5*time.Hour
		c.Durability, c.Fail = DurabilityRelaxed, fail
		c.Normal = func(title, body string) sketch.Input { return sketch.Input{Title: title, Body: body} }
	})
	x.bands.Close()
	x.bands = bands.New(bands.Config{Full: full, Hot: 16})
	t.Cleanup(func() { _ = x.Close() })
	return x
}

// TestPreview: whatever was found out beforehand, and however long before, an
// article gets the verdict that it gets when everything is done in turn.
func TestPreview(t *testing.T) {
	ctx := context.Background()
	before, again := 0., 0.
	for seed := range uint64(6) {
		r := rand.New(rand.NewPCG(seed, 1))
		p, inTurn := &press{r: r}, worldly(t, 200, nil)
		failing := false
		early := worldly(t, 200, func(point string) error {
			if failing && point == "commit" {
				return errors.New("the disk is full")
			}
			return nil
		})
		const n = 500
		type item struct{ inTurn, early Mutation }
		items := make([]item, n)
		for i := range items {
			m := p.mutation(uint64(i + 1))
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
		// Workers look ahead as far as three batches, beside the writer.
		const ahead = 60
		var seen int
		look := func(to int) {
			var wg sync.WaitGroup
			for ; seen < min(to, n); seen++ {
				if m := &items[seen].early; m.Article != nil {
					wg.Go(func() {
						if err := early.Preview(ctx, m.Article, m.At); err != nil {
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
			if failing = r.IntN(16) == 0; failing {
				if _, err := early.Add(ctx, batch); err == nil {
					t.Fatal("a failed commit was reported as done")
				}
				failing = false
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
		if err != nil {
			t.Fatal(err)
		}
		got, err := early.queryEvents(ctx, `1 ORDER BY e.number`)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Fatalf("seed %d: events (-in turn +beforehand):\n%s", seed, diff)
		}
		before += testutil.ToFloat64(early.metrics.searches.WithLabelValues("before"))
		again += testutil.ToFloat64(early.metrics.searches.WithLabelValues("again"))
		mustVerify(t, early)
	}
	if before < 500 || again < 20 {
		t.Fatalf("%v searches were used, %v made again: this proves little", before, again)
	}
	t.Logf("%v searches were used, %v made again", before, again)
}

// TestRenew: a search brought up to date is the search made anew.
func TestRenew(t *testing.T) {
	renewed, not := 0, 0
	for seed := range uint64(40) {
		r := rand.New(rand.NewPCG(seed, 2))
		p, x := &press{r: r}, worldly(t, 40, nil)
		if seed%2 == 1 {
			x.policy.MaxS = 0.3 // `hamming` on its own
		}
		var posted []*Article
		move := func(limit int) {
			for range r.IntN(limit) {
				if len(posted) > 0 && r.IntN(10) == 0 {
					if a := posted[r.IntN(len(posted))]; a != nil {
						ordinal := uint32(a.Revision)
						x.unpost(ordinal, a.Print.Fingerprint, postingKeys(&a.Sketch))
						x.journal.add(change{fingerprint: a.Print.Fingerprint, ordinal: ordinal, removed: true, keys: postingKeys(&a.Sketch)})
						posted[ordinal-1] = nil
					}
					continue
				}
				a := textArticle("x", p.write())
				posted = append(posted, a)
				a.Revision = int64(len(posted))
				x.post(uint32(len(posted)), a.Print.Fingerprint, postingKeys(&a.Sketch))
				x.journal.add(change{fingerprint: a.Print.Fingerprint, ordinal: uint32(len(posted)), keys: postingKeys(&a.Sketch)})
			}
		}
		for range 30 {
			a := textArticle("q", p.write())
			at := x.journal.next.Load()
			s := x.search(a)
			move(12)
			if !x.renew(a, s, at) {
				not++
				continue
			}
			renewed++
			want := x.search(a)
			if diff := cmp.Diff([][]bands.Hit{want.hamming, want.margin}, [][]bands.Hit{s.hamming, s.margin}); diff != "" {
				t.Fatalf("hits (-made anew +renewed):\n%s", diff)
			}
			if diff := cmp.Diff([][]uint32{want.sketches, want.passages}, [][]uint32{s.sketches, s.passages}); diff != "" {
				t.Fatalf("keys (-made anew +renewed):\n%s", diff)
			}
		}
	}
	if renewed < 500 || not < 10 {
		t.Fatalf("%d searches were renewed, %d not: this proves little", renewed, not)
	}
}
