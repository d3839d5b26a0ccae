package match

import (
	"math/rand/v2"
	"testing"

	"github.com/google/go-cmp/cmp"

	"jianguo/index/bands"
	"jianguo/index/indextest"
	"jianguo/index/resident"
	"jianguo/index/verdict"
)

// TestRenewedSearchIsANewSearch: a renewed search has the same hits as a new one.
func TestRenewedSearchIsANewSearch(t *testing.T) {
	renewed, not := 0, 0
	for seed := range uint64(40) {
		r := rand.New(rand.NewPCG(seed, 2))
		policy := verdict.DefaultPolicy()
		policy.Judged, policy.Passages, policy.Texts = 3, 2, 2
		if seed%2 == 1 {
			policy.MaxS = 0.3 // `hamming` on its own
		}
		tables := resident.NewTables()
		tables.Bands = bands.New(bands.Config{Full: 40})
		m := New(Config{Policy: policy, Tables: tables, Clusters: new(resident.Clusters)})
		p := &indextest.Press{Rand: r}
		var posted []*resident.Posting
		move := func(limit int) {
			for range r.IntN(limit) {
				if len(posted) > 0 && r.IntN(10) == 0 {
					if i := r.IntN(len(posted)); posted[i] != nil {
						m.Unpost(uint32(i+1), *posted[i])
						posted[i] = nil
					}
					continue
				}
				a := indextest.ArticleOf("x", p.Write())
				q := resident.NewPosting(a.Print.Fingerprint, &a.Sketch)
				posted = append(posted, &q)
				m.Post(uint32(len(posted)), q)
			}
		}
		for range 30 {
			a := indextest.ArticleOf("q", p.Write())
			at := m.journal.next.Load()
			f := m.search(a)
			move(12)
			if !m.renew(a, f, at) {
				not++
				continue
			}
			renewed++
			want := m.search(a)
			if diff := cmp.Diff([][]bands.Hit{want.hamming, want.margin}, [][]bands.Hit{f.hamming, f.margin}); diff != "" {
				t.Fatalf("hits (-new +renewed):\n%s", diff)
			}
			if diff := cmp.Diff([][]uint32{want.sketches, want.passages}, [][]uint32{f.sketches, f.passages}); diff != "" {
				t.Fatalf("keys (-new +renewed):\n%s", diff)
			}
		}
	}
	if renewed < 500 || not < 10 {
		t.Fatalf("%d searches were renewed, %d not: this proves little", renewed, not)
	}
}
