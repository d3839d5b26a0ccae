package index

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"jianguo/index/resident"
	"jianguo/internal/sqlite"
	"jianguo/internal/testbed"
)

// visibleState is what readers see of an index: each item's state, and each
// cluster's lead and members.
func visibleState(t rapid.TB, x *Index) []string {
	t.Helper()
	var lines []string
	err := sqlite.Each(context.Background(), x.reader, `SELECT ordinal FROM items ORDER BY ordinal`, func(r *sql.Rows) error {
		var ordinal uint32
		if err := r.Scan(&ordinal); err != nil {
			return err
		}
		cluster, lead := x.clusters.Lead(x.tables.Rows.Cluster(ordinal))
		lines = append(lines, fmt.Sprintf("item %d: %s flags %x cluster %d led by %d", ordinal, x.tables.Rows.Flags(ordinal).Verdict(), uint32(x.tables.Rows.Flags(ordinal)&^resident.Swept), cluster, lead))
		c, err := x.Cluster(context.Background(), cluster)
		if err != nil {
			return err
		}
		var members []string
		for _, m := range c.Members {
			members = append(members, fmt.Sprint(m.Ordinal))
		}
		lines = append(lines, fmt.Sprintf("  among %s", strings.Join(members, " ")))
		brief, err := x.Briefs(context.Background(), []uint32{ordinal})
		if err != nil {
			return err
		}
		it, err := x.Item(context.Background(), brief[ordinal].ID)
		if err != nil {
			return err
		}
		e, last := it.InForce()[0], it.Event
		if last.Cause == CauseEditor && last.Verdict == last.Previous && last.Restores == 0 {
			last = e // it moved its telling only
		}
		says, _, _ := strings.Cut(last.Why, " (a later decision was taken back)") // with who decided so before
		lines = append(lines, fmt.Sprintf("  since event %d, of %q: %s", e.Number, last.Of, says),
			"  "+e.Why+brief[ordinal].Why("", Chinese))
		return nil
	})
	testbed.OK(t, err)
	return lines
}

// TestDecisionsUndone: any decisions, taken back in reverse order, leave what
// was there before; and at every step the directory is whole.
func TestDecisionsUndone(t *testing.T) {
	testbed.Check(t, func(rt *rapid.T) {
		ctx := context.Background()
		dir := t.TempDir()
		open := func() *Index {
			return openTest(t, dir, func(c *Config) { c.Relaxed = true })
		}
		x := open()
		defer func() { _ = x.Close() }()
		n := rapid.IntRange(4, 12).Draw(rt, "items")
		for i := range n {
			family := uint64(rapid.IntRange(1, 4).Draw(rt, "family")) * 0x0123456789abcdef
			a := article(fmt.Sprint("i", i), fmt.Sprint("text", i), family^uint64(1)<<rapid.IntRange(0, 1).Draw(rt, "flip"))
			put(rt, x, Mutation{Seq: uint64(i + 1), At: testStart, Article: a})
		}
		var before [][]string
		var numbers []uint64
		for range rapid.IntRange(1, 6).Draw(rt, "decisions") {
			was := visibleState(rt, x)
			req := DecisionRequest{
				Kind: rapid.SampledFrom([]string{Release, Reject, Block, Merge, Join, Split, MakeLead}).Draw(rt, "kind"),
				Item: fmt.Sprint("i", rapid.IntRange(0, n-1).Draw(rt, "item")), Cluster: uint32(rapid.IntRange(1, n).Draw(rt, "cluster")),
				Into: uint32(rapid.IntRange(1, n).Draw(rt, "into")), By: "张三", At: testStart,
			}
			if (req.Kind == Release || req.Kind == Reject) && rapid.Bool().Draw(rt, "several") {
				req.Item = ""
				for _, i := range rapid.SliceOfNDistinct(rapid.IntRange(0, n-1), 1, 3, rapid.ID).Draw(rt, "items together") {
					req.Items = append(req.Items, DecisionItem{Item: fmt.Sprint("i", i)})
				}
			}
			d, err := x.Decide(ctx, req)
			var conflict *ConflictError
			switch {
			case err == nil:
				before, numbers = append(before, was), append(numbers, d.Number)
			case errors.As(err, &conflict), errors.Is(err, ErrNotFound), errors.Is(err, ErrQuery):
				if diff := cmp.Diff(was, visibleState(rt, x)); diff != "" {
					rt.Fatalf("%s was refused (%v) and changed something:\n%s", req.Kind, err, diff)
				}
			default:
				rt.Fatal(err)
			}
			mustVerify(rt, x)
		}
		if rapid.Bool().Draw(rt, "restart") {
			testbed.OK(rt, x.Close())
			x = open()
		}
		for i := len(numbers) - 1; i >= 0; i-- {
			if _, err := x.Decide(ctx, DecisionRequest{Kind: Undo, Undo: numbers[i], By: "李四", At: testStart}); err != nil {
				rt.Fatalf("undo of decision %d: %v", numbers[i], err)
			}
			if diff := cmp.Diff(before[i], visibleState(rt, x)); diff != "" {
				rt.Fatalf("after the undo of decision %d (-before +after):\n%s", numbers[i], diff)
			}
			mustVerify(rt, x)
		}
	})
}

// TestDecisionExpects: a decision about what is no longer there says so, and
// who made it so.
func TestDecisionExpects(t *testing.T) {
	ctx := context.Background()
	x := openTest(t, t.TempDir(), nil)
	defer func() { _ = x.Close() }()
	for i, a := range []*Article{article("lead", "lead", 0b111_0000), article("copy", "copy", 0b111_0111), article("other", "other", 1<<40-1)} {
		put(t, x, Mutation{Seq: uint64(i + 1), At: testStart, Article: a})
	}
	refused := func(req DecisionRequest, by string) {
		t.Helper()
		req.By = "李四"
		before := visibleState(t, x)
		_, err := x.Decide(ctx, req)
		var conflict *ConflictError
		if !errors.As(err, &conflict) || by == "" != (conflict.Decision == nil) || by != "" && conflict.Decision.By != by {
			t.Errorf("%+v: %v", req, err)
		}
		if diff := cmp.Diff(before, visibleState(t, x)); diff != "" {
			t.Errorf("%+v was refused and changed something:\n%s", req, diff)
		}
	}
	refused(DecisionRequest{Kind: Release, Item: "copy", In: 3}, "")
	refused(DecisionRequest{Kind: Release, Item: "copy", Expect: Suspect}, "")
	refused(DecisionRequest{Kind: Block, Cluster: 1, Expect: Suspect}, "")
	refused(DecisionRequest{Kind: Merge, Cluster: 3, Into: 1, Expect: Suspect}, "")
	d, err := x.Decide(ctx, DecisionRequest{Kind: Release, Item: "copy", In: 1, Expect: Duplicate, By: "张三"})
	testbed.OK(t, err)
	refused(DecisionRequest{Kind: Release, Item: "copy", Expect: Duplicate}, "张三")
	refused(DecisionRequest{Kind: Reject, Item: "copy", Into: 3, In: 1}, "张三")
	refused(DecisionRequest{Kind: Undo, Undo: d.Number, In: 3}, "张三")
	// It can be taken back where it was made, and where it left the item.
	for _, in := range []uint32{2, 1} {
		if _, err := x.Decide(ctx, DecisionRequest{Kind: Undo, Undo: d.Number, In: in, By: "李四"}); err != nil {
			t.Fatal(err)
		}
		if d, err = x.Decide(ctx, DecisionRequest{Kind: Release, Item: "copy", By: "张三"}); err != nil {
			t.Fatal(err)
		}
	}
	mustVerify(t, x)
}

// TestReleasedItemLeads: what an editor releases is an original from then on,
// and the undo takes the copies that have joined it along.
func TestReleasedItemLeads(t *testing.T) {
	ctx := context.Background()
	x := openTest(t, t.TempDir(), nil)
	defer func() { _ = x.Close() }()
	add := func(seq int, id string, fp uint64) Event {
		t.Helper()
		out := put(t, x, Mutation{Seq: uint64(seq), At: testStart.Add(time.Duration(seq) * time.Second), Article: article(id, id, fp)})
		return out[0].Event
	}
	add(1, "lead", 0b111_0000)
	if e := add(2, "copy", 0b111_0111); e.Verdict != Duplicate {
		t.Fatalf("%+v", e)
	}
	d, err := x.Decide(ctx, DecisionRequest{Kind: Release, Item: "copy", By: "张三", Reason: "独家采访"})
	testbed.OK(t, err)
	if len(d.Events) != 1 || d.Events[0].Verdict != Unique || d.Events[0].Cause != CauseEditor || !strings.Contains(d.Events[0].Why, "独家采访") {
		t.Errorf("%+v", d.Events)
	}
	if e := add(3, "copy of the copy", 0b111_0111|1<<30); e.Verdict != Duplicate || e.Of != "copy" {
		t.Errorf("%+v", e)
	}
	var conflict *ConflictError
	if _, err := x.Decide(ctx, DecisionRequest{Kind: Release, Item: "copy", By: "李四"}); !errors.As(err, &conflict) || conflict.Decision == nil || conflict.Decision.By != "张三" {
		t.Errorf("the second editor is told %v", err)
	}
	if _, err := x.Decide(ctx, DecisionRequest{Kind: Undo, Undo: d.Number, By: "李四"}); err != nil {
		t.Fatal(err)
	}
	c, err := x.Cluster(ctx, 1)
	testbed.OK(t, err)
	if len(c.Members) != 3 || c.Lead == nil || c.Lead.ID != "lead" {
		t.Errorf("%+v", c)
	}
	if _, err := x.Decide(ctx, DecisionRequest{Kind: Undo, Undo: d.Number, By: "李四"}); !errors.As(err, &conflict) {
		t.Errorf("undone twice: %v", err)
	}
	mustVerify(t, x)
}

// story adds a lead and copies of it, and returns what decides on them.
func storyOf(t *testing.T, x *Index, ids ...string) (decide func(DecisionRequest) *Decision, add func(id string, fp uint64) Event) {
	t.Helper()
	seq := uint64(0)
	add = func(id string, fp uint64) Event {
		t.Helper()
		seq++
		out := put(t, x, Mutation{Seq: seq, At: testStart.Add(time.Duration(seq) * time.Second), Article: article(id, id, fp)})
		return out[0].Event
	}
	for i, id := range ids {
		add(id, 0xffff_0000^uint64(i))
	}
	return func(req DecisionRequest) *Decision {
		t.Helper()
		req.By = "张三"
		d, err := x.Decide(context.Background(), req)
		testbed.OK(t, err)
		mustVerify(t, x)
		return d
	}, add
}

// TestFounderIsReleased: the item whose number a story bears leaves it while
// another leads it, as often as one likes, and the story keeps its number.
func TestFounderIsReleased(t *testing.T) {
	ctx := context.Background()
	x := openTest(t, t.TempDir(), nil)
	defer func() { _ = x.Close() }()
	decide, add := storyOf(t, x, "founder", "heir", "copy")
	decide(DecisionRequest{Kind: MakeLead, Item: "heir"})
	before := visibleState(t, x)
	first := decide(DecisionRequest{Kind: Release, Item: "founder"})
	if c, err := x.Cluster(ctx, 1); err != nil || c.Lead == nil || c.Lead.ID != "heir" || len(c.Members) != 2 {
		t.Errorf("the story is %+v, %v", c, err)
	}
	own := first.Events[0].Cluster
	if c, err := x.Cluster(ctx, own); err != nil || own == 1 || c.Lead == nil || c.Lead.ID != "founder" || len(c.Members) != 1 || c.Size != 1 {
		t.Errorf("the founder's own cluster is %+v, %v", c, err)
	}
	if e := add("of the founder", 0xffff_0000|1<<40); e.Verdict != Duplicate || e.Of != "founder" || e.Cluster != own {
		t.Errorf("a copy of the founder is %+v", e)
	}
	// The one whose number the founder bears finds another.
	lead := decide(DecisionRequest{Kind: MakeLead, Item: "copy"})
	heir := decide(DecisionRequest{Kind: Release, Item: "heir"})
	if at := heir.Events[0].Cluster; at == 1 || at == own {
		t.Errorf("two clusters have the number %d", at)
	}
	decide(DecisionRequest{Kind: Undo, Undo: heir.Number})
	decide(DecisionRequest{Kind: Undo, Undo: lead.Number})
	decide(DecisionRequest{Kind: Undo, Undo: first.Number})
	if c, err := x.Cluster(ctx, own); err != nil || c.ID != 1 || c.Lead.ID != "heir" || len(c.Members) != 4 {
		t.Errorf("after the undo the story is %+v, %v", c, err)
	}
	again := decide(DecisionRequest{Kind: Release, Item: "founder"})
	if c, err := x.Cluster(ctx, again.Events[0].Cluster); err != nil || c.ID != own || c.Size != 2 || len(c.Members) != 2 {
		t.Errorf("released again, its cluster is %+v, %v", c, err)
	}
	decide(DecisionRequest{Kind: Undo, Undo: again.Number})
	for i, line := range before {
		if after := visibleState(t, x)[i]; !strings.HasPrefix(after, line) {
			t.Errorf("line %d was %q and is %q", i, line, after)
		}
	}
}

// TestUndoAcrossAMerge: a release is not taken back into a story that has been
// merged into the released one.
func TestUndoAcrossAMerge(t *testing.T) {
	ctx := context.Background()
	x := openTest(t, t.TempDir(), nil)
	defer func() { _ = x.Close() }()
	decide, _ := storyOf(t, x, "lead", "copy")
	release := decide(DecisionRequest{Kind: Release, Item: "copy"})
	merge := decide(DecisionRequest{Kind: Merge, Cluster: 1, Into: 2})
	var conflict *ConflictError
	if _, err := x.Decide(ctx, DecisionRequest{Kind: Undo, Undo: release.Number, By: "李四"}); !errors.As(err, &conflict) {
		t.Fatalf("undone across the merge: %v", err)
	}
	mustVerify(t, x)
	decide(DecisionRequest{Kind: Undo, Undo: merge.Number})
	decide(DecisionRequest{Kind: Undo, Undo: release.Number})
}

// TestReleasedFromStoryWithoutLead: a lead was withdrawn, its copies stayed what they
// were, and its source then made it a copy of something else. A copy that is released
// from what is left goes back there when that is undone.
func TestReleasedFromStoryWithoutLead(t *testing.T) {
	x := openTest(t, t.TempDir(), nil)
	defer func() { _ = x.Close() }()
	decide, add := storyOf(t, x, "lead", "copy")
	add("another", 0x0123_4567)
	again := article("lead", "again", 0x0123_4567^1)
	again.Revision = 2
	for i, m := range []Mutation{{Withdraw: &Withdrawal{ID: "lead"}}, {Article: again}} {
		m.Seq, m.At = uint64(100+i), testStart.Add(time.Minute)
		put(t, x, m)
	}
	if _, lead := x.clusters.Lead(1); lead != 0 {
		t.Fatalf("the story is led by %d", lead)
	}
	before := visibleState(t, x)
	release := decide(DecisionRequest{Kind: Release, Item: "copy"})
	decide(DecisionRequest{Kind: Undo, Undo: release.Number})
	if diff := cmp.Diff(before, visibleState(t, x)); diff != "" {
		t.Errorf("after the undo (-before +after):\n%s", diff)
	}
}

// TestChainsOfMerges: stories merged into stories that are merged in turn are
// one, on the page of any of them.
func TestChainsOfMerges(t *testing.T) {
	ctx := context.Background()
	dir := t.TempDir()
	x := openTest(t, dir, nil)
	decide, add := storyOf(t, x)
	for i := range 4 {
		fp := uint64(0x0123456789abcdef) * uint64(i+1)
		add(fmt.Sprint("lead", i), fp)
		add(fmt.Sprint("copy", i), fp^1)
	}
	var merges []uint64
	for _, m := range [][2]uint32{{1, 3}, {3, 5}, {7, 1}} {
		merges = append(merges, decide(DecisionRequest{Kind: Merge, Cluster: m[0], Into: m[1]}).Number)
	}
	testbed.OK(t, x.Close())
	x = openTest(t, dir, nil)
	defer func() { _ = x.Close() }()
	for _, id := range []uint32{1, 3, 5, 7} {
		c, err := x.Cluster(ctx, id)
		if err != nil || c.ID != 5 || c.Size != 8 || len(c.Members) != 8 || c.Lead == nil || c.Lead.ID != "lead2" || !c.First.Equal(testStart.Add(time.Second)) {
			t.Errorf("cluster %d is %+v, %v", id, c, err)
		}
	}
	for i := len(merges) - 1; i >= 0; i-- {
		if _, err := x.Decide(ctx, DecisionRequest{Kind: Undo, Undo: merges[i], By: "张三"}); err != nil {
			t.Fatal(err)
		}
	}
	for _, id := range []uint32{1, 3, 5, 7} {
		if c, err := x.Cluster(ctx, id); err != nil || c.ID != id || len(c.Members) != 2 || c.Lead == nil {
			t.Errorf("cluster %d is %+v, %v", id, c, err)
		}
	}
	mustVerify(t, x)
}

// TestExpected: a decision about an item that has changed is a conflict, which names the
// earlier decision even if the verdict is the same again, and none if its source changed it.
func TestExpected(t *testing.T) {
	ctx := context.Background()
	x := openTest(t, t.TempDir(), nil)
	defer func() { _ = x.Close() }()
	decide, _ := storyOf(t, x, "lead", "copy", "other copy")
	it, err := x.Item(ctx, "copy")
	testbed.OK(t, err)
	saw := it.Event.Number
	first := decide(DecisionRequest{Kind: Release, Item: "copy", Expect: Duplicate, Seen: saw})
	back := decide(DecisionRequest{Kind: Undo, Undo: first.Number})
	refused := func(req DecisionRequest, by uint64) {
		t.Helper()
		req.By = "李四"
		_, err := x.Decide(ctx, req)
		var conflict *ConflictError
		if !errors.As(err, &conflict) {
			t.Fatalf("%+v: %v", req, err)
		}
		if by == 0 && conflict.Decision != nil || by != 0 && (conflict.Decision == nil || conflict.Decision.Number != by) {
			t.Errorf("%+v: the conflict is with %+v, want %d", req, conflict.Decision, by)
		}
	}
	refused(DecisionRequest{Kind: Release, Item: "copy", Expect: Duplicate, Seen: saw}, back.Number)
	refused(DecisionRequest{Kind: MakeLead, Item: "copy", Expect: Unique}, back.Number)
	lead := decide(DecisionRequest{Kind: MakeLead, Item: "other copy"})
	refused(DecisionRequest{Kind: Block, Item: "lead", Expect: Unique}, lead.Number)
	refused(DecisionRequest{Kind: Block, Cluster: 1, Seen: 1}, lead.Number)
	out := put(t, x, Mutation{Seq: 9, At: testStart.Add(time.Minute), Article: article("copy", "rewritten", 0x1234_5678_9abc_0000)})
	e := out[0].Event
	refused(DecisionRequest{Kind: Reject, Item: "copy", Into: 1, Seen: e.Number - 1}, 0)
	decide(DecisionRequest{Kind: Reject, Item: "copy", Into: 1, Expect: Unique, Seen: e.Number})
}

// TestDecisionsAtRandom: whatever arrives and is decided, taken back or not,
// the directory is whole, nothing runs in circles, and a restart changes nothing.
func TestDecisionsAtRandom(t *testing.T) {
	testbed.Check(t, func(rt *rapid.T) {
		ctx := context.Background()
		dir := t.TempDir()
		open := func() *Index {
			return openTest(t, dir, func(c *Config) { c.Relaxed = true })
		}
		x := open()
		defer func() { _ = x.Close() }()
		for source, policy := range map[string]string{"a": SourceLicensed, "b": SourcePreferred} {
			testbed.OK(rt, x.SetSourcePolicy(ctx, SourcePolicy{Source: source, Policy: policy, By: "editor"}))
		}
		for seq := range uint64(rapid.IntRange(5, 40).Draw(rt, "steps")) {
			if rapid.Bool().Draw(rt, "arrival") {
				put(rt, x, drawMutation(rt, seq+1))
				continue
			}
			was := visibleState(rt, x)
			_, err := x.Decide(ctx, drawDecision(rt, seq))
			var conflict *ConflictError
			if err != nil && !errors.Is(err, ErrQuery) && !errors.Is(err, ErrNotFound) && !errors.As(err, &conflict) {
				rt.Fatal(err)
			}
			if err != nil {
				if diff := cmp.Diff(was, visibleState(rt, x)); diff != "" {
					rt.Fatalf("refused (%v), and yet something changed:\n%s", err, diff)
				}
			}
			mustVerify(rt, x)
		}
		was := visibleState(rt, x)
		testbed.OK(rt, x.Close())
		x = open()
		if diff := cmp.Diff(was, visibleState(rt, x)); diff != "" {
			rt.Fatalf("after a restart:\n%s", diff)
		}
	})
}

// drawDecision makes a decision about anything, fitting or not.
func drawDecision(rt *rapid.T, seq uint64) DecisionRequest {
	return DecisionRequest{
		Kind:    rapid.SampledFrom([]string{Release, Reject, Block, Merge, MakeLead, Undo}).Draw(rt, "decision"),
		Item:    fmt.Sprintf("id%d", rapid.IntRange(0, 7).Draw(rt, "item")),
		Cluster: uint32(rapid.IntRange(1, 20).Draw(rt, "cluster")), Into: uint32(rapid.IntRange(1, 20).Draw(rt, "into")),
		Undo: uint64(rapid.IntRange(1, 10).Draw(rt, "undo")), By: "editor", At: testStart.Add(time.Duration(seq) * time.Second),
	}
}

// Cluster is a cluster with all of its members.
type Cluster struct {
	ID      uint32
	Lead    *Brief
	Size    int
	First   time.Time
	Members []Brief
}
