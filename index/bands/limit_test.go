package bands

import (
	"cmp"
	"math/rand/v2"
	"slices"
	"testing"

	"jianguo/simhash"
)

// TestMarginLimit compares the bounded look-up with the first hits of the unbounded one,
// in a family much larger than the bound.
func TestMarginLimit(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	b := New()
	family := r.Uint64()
	for i := range uint32(3000) {
		f := family
		for range r.IntN(7) {
			f ^= 1 << r.IntN(64)
		}
		b.Add(simhash.Fingerprint(f), i+1)
	}
	for k := range 40 {
		limit := []int{1, 7, 64, 5000}[k%4]
		p := simhash.Print{Fingerprint: simhash.Fingerprint(family ^ 1<<r.IntN(64))}
		for i := range p.Margins {
			p.Margins[i] = float32(r.IntN(8)) / 4
		}
		all := b.reached(nil, &p, 6, b.probes())
		want := all
		if len(all) > limit {
			want = slices.Clone(all)
			slices.SortFunc(want, func(a, b Hit) int {
				return cmp.Or(cmp.Compare(p.S(a.Fingerprint), p.S(b.Fingerprint)), cmp.Compare(b.Ordinal, a.Ordinal))
			})
			want = want[:limit]
		}
		got := b.Margin([]Hit{{Ordinal: 9999}}, &p, 6, limit)
		if got[0].Ordinal != 9999 {
			t.Fatal("what was in dst is gone")
		}
		got = got[1:]
		order := func(a, b Hit) int { return int(a.Ordinal) - int(b.Ordinal) }
		slices.SortFunc(got, order)
		slices.SortFunc(want, order)
		if !slices.Equal(got, want) {
			t.Errorf("limit %d: %d hits, want %d (of %d)", limit, len(got), len(want), len(all))
		}
	}
}
