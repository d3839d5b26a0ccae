package browse

import (
	"database/sql"
	"fmt"
	"testing"

	"jianguo/index/verdict"
	"jianguo/internal/testbed"
)

// TestPresumedOriginal: times of publication are compared with each other, never with an arrival.
func TestPresumedOriginal(t *testing.T) {
	const day, arrived = 86_400_000, 1_750_000_000_000
	published := func(before int64) sql.NullInt64 { return sql.NullInt64{Int64: arrived - before, Valid: true} }
	for name, c := range map[string]struct {
		lead, copied sql.NullInt64
		want         uint32
	}{
		"the copy was published first": {published(day), published(2 * day), 2},
		"the lead was":                 {published(2 * day), published(day), 1},
		"the lead has no time":         {sql.NullInt64{}, published(2 * day), 1},
		"the copy has none":            {published(day), sql.NullInt64{}, 1},
	} {
		s := newCounted(1)
		s.add(&member{ordinal: 1, published: c.lead, arrived: arrived})
		s.add(&member{ordinal: 2, published: c.copied, arrived: arrived + day})
		if got := s.presumed(); got != c.want {
			t.Errorf("%s: %d", name, got)
		}
	}
}

// TestLargeStoryWaits: what has joined a large cluster is in the list after a restart, though it waited to be counted.
func TestLargeStoryWaits(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	x := openTest(t, t.TempDir(), nil)
	defer func() { _ = x.Close() }()
	b := openModel(t, x)
	var arrivals []verdict.Mutation
	for n := range uint64(largeCluster + 2) {
		arrivals = append(arrivals, verdict.Mutation{Seq: n + 1, At: testStart, Article: article(fmt.Sprint("id", n), "text", 1)})
	}
	for _, some := range [][]verdict.Mutation{arrivals[:largeCluster+1], arrivals[largeCluster+1:]} {
		if _, err := x.Add(ctx, some); err != nil {
			t.Fatal(err)
		}
		testbed.OK(t, b.Follow(ctx))
	}
	if len(b.stale) != 1 {
		t.Fatalf("%v wait", b.stale)
	}
	testbed.OK(t, b.Close())
	b = openModel(t, x)
	defer func() { _ = b.Close() }()
	testbed.OK(t, b.Follow(ctx))
	if page, err := b.Clusters(ctx, ClusterQuery{Sort: "size", Limit: 1}); err != nil || page.Clusters[0].Size != largeCluster+2 {
		t.Errorf("%+v, %v", page, err)
	}
}
