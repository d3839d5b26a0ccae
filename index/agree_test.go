package index

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"jianguo/compare"
	"jianguo/index/indextest"
	"jianguo/internal/testbed"
)

// sent is a message of ITEMS.
type sent struct {
	at       time.Time
	mutation func() *Mutation // nil: an edit
	edit     func() *Edit
}

// messages are items of five sources, and what editors do.
func messages(seed uint64, n int) (list []sent) {
	r := rand.New(rand.NewPCG(seed, 77))
	p, at, decided := &indextest.Press{Rand: r}, indextest.Start, uint64(0)
	pick := func(of ...string) string { return of[r.IntN(len(of))] }
	source := func() string { return pick("a", "b", "c", "d") }
	for len(list) < n {
		at = at.Add([]time.Duration{time.Minute, time.Second}[min(1, r.IntN(4))] * time.Duration(r.IntN(99)))
		m := sent{at: at}
		if len(p.IDs) > 8 && r.IntN(5) == 0 {
			e := Edit{}
			switch r.IntN(10) {
			case 0:
				e.Source = &SourcePolicy{By: "张三", Source: source(), Policy: pick(SourceNormal, SourceLicensed, SourcePreferred),
					Strictness: pick("", "copies", "stories", StrictnessOfService)}
			case 1:
				e.Passage = &SourcePassage{source(), Passage{Text: "footer", By: "张三", State: pick(PassageIn, "out", PassageLearned)}}
			default:
				cluster := func() uint32 { return uint32(1 + r.IntN(len(p.IDs))) }
				req := DecisionRequest{By: "张三", Undo: decided - min(decided, uint64(r.IntN(5))), Cluster: cluster(),
					Kind: pick(Release, Release, Reject, Block, Exempt, Merge, Merge, Join, Split, MakeLead, Undo, Undo)}
				if req.Into = cluster(); req.Kind != Merge && req.Kind != Join && req.Kind != Split {
					req.Item = pick(p.IDs...)
				}
				e.Decision, decided = &req, decided+uint64(r.IntN(2))
			}
			m.edit = func() *Edit { return &e }
		} else {
			of := p.Mutation(uint64(len(list) + 1))
			if of.At = at; of.Article != nil {
				a := of.Article
				body, src := a.Text.Body+pick("", "\nfooter"), pick("", "a", "b", "c", "d")
				of.Article = indextest.ArticleOf(a.ID, body)
				of.Article.Source, of.Article.Title, of.Article.Revision = src, pick("t", "标题"), int64(max(0, r.IntN(20)-16))
			}
			m.mutation = func() *Mutation { // what Add and CompareAhead keep is in the copy
				one := of
				if one.Article != nil {
					one.Article = new(*of.Article)
				}
				return &one
			}
		}
		list = append(list, m)
	}
	return list
}

// takes applies messages, with a wild life one by one in order: batches, comparisons ahead, commits that fail, sweeps,
// snapshots, and starts with and without one.
func takes(t *testing.T, list []sent, r *rand.Rand, wild bool) (said []string) {
	dir, failing := t.TempDir(), false
	open := func() *Index {
		return openTest(t, dir, func(c *Config) {
			*c.Policy, c.Relaxed, c.SweepEvery = DefaultPolicy(), true, -1
			c.Policy.Judged, c.Policy.Passages, c.Policy.Texts, c.Policy.Work = 4, 2, 3, 3000
			c.Policy.Flood, c.Policy.FloodSpan, c.Policy.Tellings = 3, 5*time.Second, 4
			c.Policy.Window, c.Policy.Cap = 20*time.Hour, 60*time.Hour
			c.Normal = func(_, body string) compare.Text { return compare.Text{Body: body} }
			c.Fail = func(point string) error {
				if failing && point == "commit" {
					return errors.New("the disk is full")
				}
				return nil
			}
		})
	}
	x, chance := open(), func(n int) bool { return wild && r.IntN(n) == 0 }
	for from, to := 0, 0; from < len(list); from = to {
		edit := list[from].edit != nil
		for to++; !edit && to < len(list) && list[to].edit == nil && !chance(5) && wild; to++ {
		}
		for failing = chance(4); ; failing = false {
			var err error
			if edit {
				d, refused, failed := x.Edit(t.Context(), uint64(to), list[from].at, list[from].edit())
				if err = failed; err == nil {
					if d != nil {
						d.Events = nil // below
					}
					said = append(said, fmt.Sprintf("%+v %v", d, refused))
				}
			} else {
				var batch []Mutation
				for _, m := range list[from:to] {
					if batch = append(batch, *m.mutation()); batch[len(batch)-1].Article != nil && chance(2) {
						testbed.OK(t, x.CompareAhead(t.Context(), batch[len(batch)-1].Article, m.at))
					}
				}
				_, err = x.Add(t.Context(), batch)
			}
			if err == nil {
				break
			}
		}
		if chance(8) {
			_, err := x.Sweep(t.Context())
			testbed.OK(t, err)
		}
		if chance(10) {
			testbed.OK(t, x.Snapshot(t.Context()))
			testbed.OK(t, x.Close())
			if chance(3) {
				testbed.OK(t, os.Remove(filepath.Join(dir, SnapshotFileName)))
			}
			x = open()
		}
	}
	mustVerify(t, x)
	events, err := x.Events(t.Context(), 0, -1)
	testbed.OK(t, errors.Join(err, x.Close()))
	for _, e := range events {
		said = append(said, fmt.Sprint(e.Number, " ", e.ID, " ", e.Verdict, " ", e.Rule, " of ", e.Of, " cluster ", e.Cluster, " story ", e.Story, ": ", e.Why))
	}
	return said
}

// TestServicesAgree: whatever becomes of the service meanwhile, the same messages give the same events and decisions.
func TestServicesAgree(t *testing.T) {
	t.Parallel()
	seeds := []uint64{11, 30, 50}
	for seed := range uint64(testbed.Count(0, 10, 300)) {
		seeds = append(seeds, 100+seed)
	}
	for _, seed := range testbed.Sequential(slices.Compact(seeds)) {
		list := messages(seed, 350)
		inOrder := takes(t, list, nil, false)
		wild := takes(t, list, rand.New(rand.NewPCG(seed, 99)), true)
		slices.Sort(inOrder) // what edits say stands among them
		slices.Sort(wild)
		if diff := cmp.Diff(inOrder, wild); diff != "" {
			t.Fatalf("seed %d (-in order +wild):\n%s", seed, diff)
		}
	}
}
