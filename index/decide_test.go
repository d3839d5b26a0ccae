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
)

// standing is what readers see of an index: each item's state, and each
// cluster's lead and members.
func standing(t tester, x *Index) []string {
	t.Helper()
	var lines []string
	err := each(context.Background(), x.reader, `SELECT ordinal FROM items ORDER BY ordinal`, func(r *sql.Rows) error {
		var ordinal uint32
		if err := r.Scan(&ordinal); err != nil {
			return err
		}
		cluster, lead := x.clusters.lead(x.columns.cluster(ordinal))
		lines = append(lines, fmt.Sprintf("item %d: %s flags %x cluster %d led by %d", ordinal, x.columns.flags(ordinal).verdict(), uint32(x.columns.flags(ordinal)), cluster, lead))
		c, err := x.Cluster(context.Background(), cluster)
		if err != nil {
			return err
		}
		var members []string
		for _, m := range c.Members {
			members = append(members, fmt.Sprint(m.Ordinal))
		}
		lines = append(lines, fmt.Sprintf("  among %s", strings.Join(members, " ")))
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return lines
}

// TestDecisionsUndone: any decisions, taken back in reverse order, leave what
// was there before; and at every step the directory is whole.
func TestDecisionsUndone(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		ctx := context.Background()
		dir := t.TempDir()
		open := func() *Index {
			return openTest(t, dir, func(c *Config) { c.Durability = DurabilityRelaxed })
		}
		x := open()
		defer func() { _ = x.Close() }()
		n := rapid.IntRange(4, 12).Draw(rt, "items")
		for i := range n {
			family := uint64(rapid.IntRange(1, 4).Draw(rt, "family")) * 0x0123456789abcdef
			a := article(fmt.Sprint("i", i), fmt.Sprint("text", i), family^uint64(1)<<rapid.IntRange(0, 1).Draw(rt, "flip"))
			if _, err := x.Add(ctx, []Mutation{{Seq: uint64(i + 1), At: testStart, Article: a}}); err != nil {
				rt.Fatal(err)
			}
		}
		var before [][]string
		var numbers []uint64
		for range rapid.IntRange(1, 6).Draw(rt, "decisions") {
			was := standing(rt, x)
			req := DecisionRequest{
				Kind: rapid.SampledFrom([]string{Release, Reject, Block, Merge, MakeLead}).Draw(rt, "kind"),
				Item: fmt.Sprint("i", rapid.IntRange(0, n-1).Draw(rt, "item")), Cluster: uint32(rapid.IntRange(1, n).Draw(rt, "cluster")),
				Into: uint32(rapid.IntRange(1, n).Draw(rt, "into")), By: "张三", At: testStart,
			}
			d, err := x.Decide(ctx, req)
			var conflict *ConflictError
			switch {
			case err == nil:
				before, numbers = append(before, was), append(numbers, d.Number)
			case errors.As(err, &conflict), errors.Is(err, ErrNotFound), errors.Is(err, ErrQuery):
				if diff := cmp.Diff(was, standing(rt, x)); diff != "" {
					rt.Fatalf("%s was refused (%v) and changed something:\n%s", req.Kind, err, diff)
				}
			default:
				rt.Fatal(err)
			}
			mustVerify(rt, x)
		}
		if rapid.Bool().Draw(rt, "restart") {
			if err := x.Close(); err != nil {
				rt.Fatal(err)
			}
			x = open()
		}
		for i := len(numbers) - 1; i >= 0; i-- {
			if _, err := x.Decide(ctx, DecisionRequest{Kind: Undo, Undo: numbers[i], By: "李四", At: testStart}); err != nil {
				rt.Fatalf("undo of decision %d: %v", numbers[i], err)
			}
			if diff := cmp.Diff(before[i], standing(rt, x)); diff != "" {
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
		if _, err := x.Add(ctx, []Mutation{{Seq: uint64(i + 1), At: testStart, Article: a}}); err != nil {
			t.Fatal(err)
		}
	}
	refused := func(req DecisionRequest, by string) {
		t.Helper()
		req.By = "李四"
		before := standing(t, x)
		_, err := x.Decide(ctx, req)
		var conflict *ConflictError
		if !errors.As(err, &conflict) || by == "" != (conflict.Decision == nil) || by != "" && conflict.Decision.By != by {
			t.Errorf("%+v: %v", req, err)
		}
		if diff := cmp.Diff(before, standing(t, x)); diff != "" {
			t.Errorf("%+v was refused and changed something:\n%s", req, diff)
		}
	}
	refused(DecisionRequest{Kind: Release, Item: "copy", In: 3}, "")
	refused(DecisionRequest{Kind: Release, Item: "copy", Expect: Suspect}, "")
	refused(DecisionRequest{Kind: Block, Cluster: 1, Expect: Suspect}, "")
	refused(DecisionRequest{Kind: Merge, Cluster: 3, Into: 1, Expect: Suspect}, "")
	d, err := x.Decide(ctx, DecisionRequest{Kind: Release, Item: "copy", In: 1, Expect: Duplicate, By: "张三"})
	if err != nil {
		t.Fatal(err)
	}
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
		out, err := x.Add(ctx, []Mutation{{Seq: uint64(seq), At: testStart.Add(time.Duration(seq) * time.Second), Article: article(id, id, fp)}})
		if err != nil {
			t.Fatal(err)
		}
		return out[0].Event
	}
	add(1, "lead", 0b111_0000)
	if e := add(2, "copy", 0b111_0111); e.Verdict != Duplicate {
		t.Fatalf("%+v", e)
	}
	d, err := x.Decide(ctx, DecisionRequest{Kind: Release, Item: "copy", By: "张三", Reason: "独家采访"})
	if err != nil {
		t.Fatal(err)
	}
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
	if err != nil {
		t.Fatal(err)
	}
	if len(c.Members) != 3 || c.Lead == nil || c.Lead.ID != "lead" {
		t.Errorf("%+v", c)
	}
	if _, err := x.Decide(ctx, DecisionRequest{Kind: Undo, Undo: d.Number, By: "李四"}); !errors.As(err, &conflict) {
		t.Errorf("undone twice: %v", err)
	}
	mustVerify(t, x)
}
