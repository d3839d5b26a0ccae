package index

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"jianguo/compare"
	"jianguo/index/indextest"
	"jianguo/internal/testbed"
)

// Long texts are compared as far as the budget of work goes. Beyond it they are judged by their
// sketches, which rejects nothing, and the event says so.
func TestWork(t *testing.T) {
	for _, work := range []int{0, DefaultPolicy().Work} {
		x := openTest(t, t.TempDir(), func(c *Config) {
			p := DefaultPolicy()
			p.Work = work
			c.Policy, c.Relaxed = &p, true
			c.Normal = func(title, body string) compare.Text { return compare.Text{Title: title, Body: body} }
		})
		p := &indextest.Press{Rand: rand.New(rand.NewPCG(3, 4))}
		story := p.Words(3000)
		var batch []Mutation
		add := func(id string, text []rune) {
			batch = append(batch, Mutation{Seq: uint64(len(batch) + 1), At: testStart, Article: indextest.ArticleOf(id, string(text))})
		}
		add("story", story)
		for i := range 4 {
			add(fmt.Sprint("other", i), append(slices.Clone(story[:900]), p.Words(2100)...))
		}
		outcomes := put(t, x, batch...)
		for _, o := range outcomes {
			if o.Event.Verdict == Duplicate {
				t.Errorf("work %d: %s is a duplicate", work, o.Event.ID)
			}
		}
		copied := slices.Clone(story)
		copied[5] = '变'
		add("copy", copied)
		outcomes = put(t, x, batch[len(batch)-1:]...)
		e := outcomes[0].Event
		switch {
		case work > 0 && (e.Verdict != Duplicate || e.Of != "story"):
			t.Errorf("with enough work: %s of %q", e.Verdict, e.Of)
		case work == 0 && (e.Verdict != Suspect || e.Of != "story" || e.Facts.Reason != compare.TooLong ||
			e.Why != "in doubt: too long to compare in full"):
			t.Errorf("without: %s of %q: %s %+v", e.Verdict, e.Of, e.Why, e.Facts)
		}
		mustVerify(t, x)
		testbed.OK(t, x.Close())
	}
}
