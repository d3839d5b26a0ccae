package browse

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	"jianguo/index"
	"jianguo/index/verdict"
	"jianguo/internal/testbed"

	"pgregory.net/rapid"
)

// TestStoryFilters: whether a list is read along an order or from the result of a
// filter, its pages have the clusters that fit, in order, each once.
func TestStoryFilters(t *testing.T) {
	ctx := context.Background()
	x := openTest(t, t.TempDir(), nil)
	defer func() { _ = x.Close() }()
	b := openModel(t, x)
	defer func() { _ = b.Close() }()
	seq := uint64(0)
	for story := range 40 {
		for n := range 2 + story*7%11 {
			seq++
			a := article(fmt.Sprintf("s%d-%d", story, n), fmt.Sprint(story, n%2), uint64(story+1)*0x9e3779b97f4a7c15^uint64(n&3))
			a.Source = fmt.Sprint("source", (story*n)%5)
			if _, err := x.Add(ctx, []verdict.Mutation{{Seq: seq, At: testStart.Add(time.Duration(seq*37%997) * time.Minute), Article: a}}); err != nil {
				t.Fatal(err)
			}
		}
	}
	testbed.OK(t, b.Follow(ctx))
	list := func(t rapid.TB, q ClusterQuery) (ids []uint32) {
		for {
			page, err := b.Clusters(ctx, q)
			testbed.OK(t, err)
			for i := range page.Clusters {
				ids = append(ids, page.Clusters[i].ID)
			}
			if q.Cursor = page.Next; q.Cursor == "" {
				return ids
			}
		}
	}
	rapid.Check(t, func(rt *rapid.T) {
		sort := rapid.SampledFrom([]string{"heat", "last", "first", "size"}).Draw(rt, "sort")
		q := ClusterQuery{Sort: sort, Limit: rapid.IntRange(1, 9).Draw(rt, "limit"), MinSize: rapid.IntRange(0, 12).Draw(rt, "size")}
		if n := rapid.IntRange(-1, 5).Draw(rt, "source"); n >= 0 {
			q.Source = fmt.Sprint("source", n)
		}
		if n := rapid.IntRange(0, 16).Draw(rt, "hours"); n > 0 {
			q.Since = testStart.Add(time.Duration(n) * time.Hour)
		}
		b.few = 1000
		var want []uint32
		for _, id := range list(rt, ClusterQuery{Sort: sort, Limit: 100}) {
			v, err := b.Cluster(ctx, id, 0, 100)
			testbed.OK(rt, err)
			if v.Size < q.MinSize || v.Last.Before(q.Since) {
				continue
			}
			if q.Source == "" || slices.ContainsFunc(v.Members, func(m index.Brief) bool { return m.Source == q.Source }) {
				want = append(want, id)
			}
		}
		if rapid.Bool().Draw(rt, "found by words") {
			q.Clusters = rapid.SliceOfDistinct(rapid.SampledFrom(append(want, 1, 2, 3)), rapid.ID).Draw(rt, "clusters")
			want = slices.DeleteFunc(want, func(id uint32) bool { return !slices.Contains(q.Clusters, id) })
		}
		for _, few := range []int{0, 3, 1000} {
			b.few = few
			if got := list(rt, q); !slices.Equal(got, want) {
				rt.Fatalf("few = %d, %+v:\n%v, want\n%v", few, q, got, want)
			}
		}
	})
}
