package buckets

import (
	"cmp"
	"slices"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"

	"jianguo/internal/testbed"
)

// TestLookups makes random puts, snapshots and reloads, and compares every answer
// with a plain map.
func TestLookups(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		r := New(true)
		ref := map[uint64][]uint32{}
		pages := map[int][]byte{}
		total := 0
		// Keys that differ only in the lowest, a middle or the highest of the stored bits.
		key := rapid.Map(rapid.SliceOfN(rapid.Uint64Range(0, 3), 3, 3), func(p []uint64) uint64 {
			return p[0]<<62 | p[1]<<30 | p[2]<<16
		})
		save := func(t *rapid.T) {
			err := r.Snapshot(func(id int, page []byte) error {
				pages[id] = slices.Clone(page)
				return nil
			})
			testbed.OK(t, err)
		}
		t.Repeat(map[string]func(*rapid.T){
			"put": func(t *rapid.T) {
				k, v := key.Draw(t, "key"), rapid.Uint32Range(0, 9).Draw(t, "value")
				r.Put(k, v)
				if !slices.Contains(ref[k], v) {
					ref[k] = append(ref[k], v)
					total++
				}
			},
			"put many": func(t *rapid.T) {
				k := key.Draw(t, "key")
				for v := range rapid.Uint32Range(1, 2200).Draw(t, "values") {
					r.Put(k, v+100)
					if !slices.Contains(ref[k], v+100) {
						ref[k] = append(ref[k], v+100)
						total++
					}
				}
			},
			"snapshot": save,
			"reload": func(t *rapid.T) {
				save(t)
				r = New(true)
				for id, page := range pages {
					testbed.OK(t, r.LoadPage(id, page))
				}
			},
			"": func(t *rapid.T) {
				k := key.Draw(t, "query")
				want := slices.Clone(ref[k])
				slices.SortFunc(want, func(a, b uint32) int { return cmp.Compare(b, a) })
				if d := gocmp.Diff(want, r.Get(nil, k), cmpopts.EquateEmpty()); d != "" {
					t.Fatalf("get %x (-want +got):\n%s", k, d)
				}
				if r.Len() != total {
					t.Fatalf("%d pairs, want %d", r.Len(), total)
				}
			},
		})
	})
}
