package index

import (
	"context"
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"

	"jianguo/internal/testbed"
)

// TestTogether: several items are decided about as one, or none of them is;
// the log has one entry, which every one of them leads to, and one undo.
func TestTogether(t *testing.T) {
	ctx := context.Background()
	x := openTest(t, t.TempDir(), nil)
	defer func() { _ = x.Close() }()
	for i, a := range []*Article{article("lead", "lead", 0b111_0000), article("copy1", "c1", 0b111_0001), article("copy2", "c2", 0b111_0010), article("copy3", "c3", 0b111_0100),
		article("other", "other", 1<<40-1)} {
		put(t, x, Mutation{Seq: uint64(i + 1), At: testStart, Article: a})
	}
	event := func(id string) uint64 {
		t.Helper()
		it, err := x.Item(ctx, id)
		testbed.OK(t, err)
		return it.Event.Number
	}
	before := visibleState(t, x)
	three := []DecisionItem{{"copy1", event("copy1")}, {"copy2", event("copy2")}, {"copy3", event("copy3")}}
	for _, wrong := range []DecisionRequest{
		{Kind: Block, Items: three},
		{Kind: Release, Items: three, Item: "copy1"},
		{Kind: Release, Items: append(three, three[0])},
		{Kind: Release, Items: make([]DecisionItem, MaxTogether+1)},
	} {
		wrong.By = "张三"
		if _, err := x.Decide(ctx, wrong); !errors.Is(err, ErrQuery) {
			t.Errorf("%s: %v", wrong.Kind, err)
		}
	}
	// One that does not fit, and nothing is done.
	var conflict *ConflictError
	if _, err := x.Decide(ctx, DecisionRequest{Kind: Release, Items: append(three[:2:2], DecisionItem{Item: "other"}), By: "张三"}); !errors.As(err, &conflict) {
		t.Errorf("an item that is no copy: %v", err)
	}
	if _, err := x.Decide(ctx, DecisionRequest{Kind: Release, Items: three, In: 5, By: "张三"}); !errors.As(err, &conflict) {
		t.Errorf("in another cluster: %v", err)
	}
	if diff := cmp.Diff(before, visibleState(t, x)); diff != "" {
		t.Fatalf("refused, and something changed:\n%s", diff)
	}
	// Their undo takes back, too, that a reviewer found one of them wrongly rejected.
	if _, err := x.EditNow(ctx, &Edit{Review: &Review{Item: "copy2", Drawn: DrawnRandom, Finding: FoundWrong, By: "张三"}}); err != nil {
		t.Fatal(err)
	}
	d, err := x.Decide(ctx, DecisionRequest{Kind: Release, Items: three, In: 1, By: "张三", Reason: "授权"})
	testbed.OK(t, err)
	if d.Count != 3 || d.Item != "copy1" || d.Cluster != 1 || len(d.Events) != 3 {
		t.Errorf("%+v", d)
	}
	mustVerify(t, x)
	for _, id := range []string{"copy1", "copy2", "copy3"} {
		list, err := x.Decisions(ctx, DecisionQuery{Item: id})
		if err != nil || len(list) != 1 || list[0].Number != d.Number || list[0].Count != 3 {
			t.Errorf("%s leads to %+v %v", id, list, err)
		}
	}
	labels, err := x.Labels(ctx)
	if err != nil || len(labels) != 3 {
		t.Errorf("labels: %+v %v", labels, err)
	}
	// Whoever comes second is told who decided, whichever item it is about.
	_, err = x.Decide(ctx, DecisionRequest{Kind: Release, Items: three[2:], By: "李四"})
	if !errors.As(err, &conflict) || conflict.Decision == nil || conflict.Decision.Number != d.Number {
		t.Errorf("the second is told %v", err)
	}
	if _, err := x.Decide(ctx, DecisionRequest{Kind: Undo, Undo: d.Number, By: "李四"}); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(before, visibleState(t, x)); diff != "" {
		t.Errorf("after the undo:\n%s", diff)
	}
	if list, err := x.Decisions(ctx, DecisionQuery{Item: "copy3"}); err != nil || len(list) != 2 || list[0].Kind != Undo || !list[1].Undone {
		t.Errorf("after the undo, copy3 leads to %+v %v", list, err)
	}
	if labels, err := x.Labels(ctx); err != nil || len(labels) != 0 {
		t.Errorf("labels of what was undone: %+v %v", labels, err)
	}
	mustVerify(t, x)
}
