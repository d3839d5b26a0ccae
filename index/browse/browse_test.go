package browse

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"jianguo/index"
	"jianguo/index/verdict"
	"jianguo/internal/testbed"

	"pgregory.net/rapid"
)

// TestBrowseFollows: for any interleaving of events and follower, the model equals a new
// model of the whole log, and the clusters that it lists are those of the index.
func TestBrowseFollows(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		ctx := context.Background()
		dir, err := os.MkdirTemp(t.TempDir(), "browse")
		testbed.OK(rt, err)
		x := openTest(t, dir, func(c *index.Config) { c.Relaxed = true })
		defer func() { _ = x.Close() }()
		for source, policy := range map[string]string{"source1": index.SourceLicensed, "source2": index.SourcePreferred} {
			if _, err := x.EditNow(ctx, &index.Edit{Source: &index.SourcePolicy{Source: source, Policy: policy, By: "editor"}}); err != nil {
				rt.Fatal(err)
			}
		}
		b := openModel(t, x)
		seq := uint64(0)
		for range rapid.IntRange(1, 15).Draw(rt, "steps") {
			for range rapid.IntRange(1, 6).Draw(rt, "size") {
				seq++
				m := drawMutation(rt, seq)
				if m.Article != nil {
					m.Article.Source = fmt.Sprintf("source%d", rapid.IntRange(0, 3).Draw(rt, "source"))
					m.Article.Published = m.At.Add(-time.Duration(rapid.IntRange(0, 5000).Draw(rt, "age")) * time.Second)
				}
				if _, err := x.Add(ctx, []verdict.Mutation{m}); err != nil {
					rt.Fatal(err)
				}
			}
			if rapid.Bool().Draw(rt, "decide") {
				_, err := x.EditNow(ctx, &index.Edit{Decision: new(drawDecision(rt, seq))})
				var conflict *index.ConflictError
				if err != nil && !errors.Is(err, verdict.ErrQuery) && !errors.Is(err, verdict.ErrNotFound) && !errors.As(err, &conflict) {
					rt.Fatal(err)
				}
			}
			if rapid.Bool().Draw(rt, "follow") {
				testbed.OK(rt, b.Follow(ctx))
			}
		}
		b.largeCounted = time.Time{}
		testbed.OK(rt, b.Follow(ctx))
		got := dump(rt, b)
		holdClusters(rt, x, b)
		testbed.OK(rt, b.Close())
		testbed.OK(rt, os.Remove(filepath.Join(dir, FileName)))
		b = openModel(t, x)
		defer func() { _ = b.Close() }()
		testbed.OK(rt, b.Follow(ctx))
		for table, want := range dump(rt, b) {
			if !slices.Equal(got[table], want) {
				rt.Errorf("%s: followed step by step:\n%s\nrebuilt:\n%s", table, strings.Join(got[table], "\n"), strings.Join(want, "\n"))
			}
		}
	})
}

// holdClusters compares the list of clusters with those of the index, and the pages with the
// whole list.
func holdClusters(rt *rapid.T, x *index.Index, b *Model) {
	ctx := context.Background()
	want := map[uint32]int{}
	_, last := x.Applied()
	for id := uint32(1); uint64(id) <= last; id++ {
		whole, err := b.Cluster(ctx, id, 0, 1)
		c, leadErr := b.Lead(ctx, id)
		if errors.Is(err, index.ErrNotFound) != errors.Is(leadErr, index.ErrNotFound) || err == nil && (leadErr != nil || c.ID != whole.ID ||
			c.Size != whole.Size || (c.Lead == nil) != (whole.Lead == nil) || c.Lead != nil && c.Lead.ID != whole.Lead.ID) {
			rt.Fatalf("cluster %d: %+v, %v, and its lead: %+v, %v", id, whole, err, c, leadErr)
		}
		if resolved, _ := b.cat.Lead(id); resolved != id {
			continue
		}
		size := 0
		from, args := b.cat.MembersFrom(id)
		testbed.OK(rt, b.cat.Tables().QueryRowContext(ctx, `SELECT count(*) FROM `+from, args...).Scan(&size))
		if size > 1 {
			want[id] = size
		}
	}
	for _, sort := range []string{"heat", "last", "first", "size"} {
		got := map[uint32]int{}
		for cursor, pages := "", 0; ; pages++ {
			page, err := b.Clusters(ctx, ClusterQuery{Sort: sort, Cursor: cursor, Limit: 2})
			testbed.OK(rt, err)
			for _, s := range page.Clusters {
				if got[s.ID] != 0 {
					rt.Fatalf("story %d is listed twice by %s", s.ID, sort)
				}
				got[s.ID] = s.Size
				v, err := b.Cluster(ctx, s.ID, 0, 100)
				if err != nil || v.Size != s.Size {
					rt.Fatalf("story %d has %d members on its page, %d in the list: %v", s.ID, v.Size, s.Size, err)
				}
			}
			if cursor = page.Next; cursor == "" || pages > 50 {
				break
			}
		}
		if fmt.Sprint(got) != fmt.Sprint(want) {
			rt.Fatalf("stories by %s: %v, the clusters are %v", sort, got, want)
		}
	}
}

// TestMergedClusters: clusters that were merged in turn are one cluster.
func TestMergedClusters(t *testing.T) {
	ctx := context.Background()
	x := openTest(t, t.TempDir(), nil)
	defer func() { _ = x.Close() }()
	for i := range uint64(8) {
		a := article(fmt.Sprint("i", i), fmt.Sprint("text", i), 0x0123456789abcdef*(i/2+1)^i%2)
		if _, err := x.Add(ctx, []verdict.Mutation{{Seq: i + 1, At: testStart, Article: a}}); err != nil {
			t.Fatal(err)
		}
	}
	for _, m := range [][2]uint32{{1, 3}, {3, 5}, {7, 1}} {
		if _, err := x.EditNow(ctx, &index.Edit{Decision: &index.DecisionRequest{Kind: index.Merge, Cluster: m[0], Into: m[1], By: "张三"}}); err != nil {
			t.Fatal(err)
		}
	}
	b := openModel(t, x)
	defer func() { _ = b.Close() }()
	testbed.OK(t, b.Follow(ctx))
	if page, err := b.Clusters(ctx, ClusterQuery{}); err != nil || len(page.Clusters) != 1 || page.Clusters[0].Size != 8 {
		t.Errorf("stories %+v, %v", page, err)
	}
	mustVerify(t, x)
}

// TestLagAfterClose: a reader that is late gets an error.
func TestLagAfterClose(t *testing.T) {
	x := openTest(t, t.TempDir(), nil)
	defer func() { _ = x.Close() }()
	b := openModel(t, x)
	testbed.OK(t, b.Close())
	if _, _, err := b.Lag(t.Context()); err == nil {
		t.Error("a closed model knows its lag")
	}
	if err := b.Close(); err != nil {
		t.Errorf("closed twice: %v", err)
	}
}

// TestClockWasAhead: what arrived under a clock that was ahead is as hot as what arrives now, once the clock is right.
func TestClockWasAhead(t *testing.T) {
	dir, ctx := t.TempDir(), t.Context()
	x := openTest(t, dir, nil)
	defer func() { _ = x.Close() }()
	now := time.Now()
	for i, m := range []struct {
		print uint64
		at    time.Time
	}{{1, now}, {1, now.AddDate(0, 1, 0)}, {^uint64(1), now}, {^uint64(1), now}, {^uint64(1), now}} {
		a := article(fmt.Sprint("i", i), fmt.Sprint("text", i), m.print^uint64(i&1)<<9)
		if _, err := x.Add(ctx, []verdict.Mutation{{Seq: uint64(i + 1), At: m.at, Article: a}}); err != nil {
			t.Fatal(err)
		}
	}
	for range 2 {
		b := openModel(t, x)
		testbed.OK(t, b.followLists(ctx))
		page, err := b.Clusters(ctx, ClusterQuery{})
		if err != nil || len(page.Clusters) != 2 || page.Clusters[0].ID != 3 {
			t.Errorf("%+v %v", page, err)
		}
		// As it was counted while the clock was ahead.
		if _, err := b.writer.Exec(`UPDATE stories SET heat = 1e9 WHERE cluster = 1`); err != nil {
			t.Fatal(err)
		}
		testbed.OK(t, b.Close())
	}
}
