package index

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"jianguo/index/indextest"
	"jianguo/index/resident"
	"jianguo/internal/testbed"
)

// Cases that random tests found once.

// decideTest takes a decision that must fit.
func decideTest(t *testing.T, x *Index, req DecisionRequest) *Decision {
	t.Helper()
	req.By, req.At = "张三", testStart
	d, err := x.Decide(context.Background(), req)
	if err != nil {
		t.Fatalf("%+v: %v", req, err)
	}
	return d
}

// TestUndoTellsWhoDecided: what an undo brings back is told with the name and reason of the editor who decided so, before
// those of the editor of the undo.
func TestUndoTellsWhoDecided(t *testing.T) {
	x := openTest(t, t.TempDir(), nil)
	defer func() { _ = x.Close() }()
	storyOf(t, x, "lead", "copy")
	by := func(req DecisionRequest) *Decision {
		t.Helper()
		d, err := x.Decide(t.Context(), req)
		testbed.OK(t, err)
		return d
	}
	by(DecisionRequest{Kind: Release, Item: "copy", By: "张三", Reason: "独家"})
	reject := by(DecisionRequest{Kind: Reject, Item: "copy", Into: 1, By: "王五", Reason: "抄"})
	undo := by(DecisionRequest{Kind: Undo, Undo: reject.Number, By: "李四", Reason: "误拒"})
	it, err := x.Item(t.Context(), "copy")
	testbed.OK(t, err)
	const want = "an editor decided so: 张三: 独家 (a later decision was taken back): 李四: 误拒"
	if e := &it.Event; e.Why != want || e.Why != undo.Events[0].Why || x.Note(e) != "李四: 误拒" {
		t.Errorf("%s\n%s\n%s", e.Why, undo.Events[0].Why, x.Note(e))
	}
}

// TestBlankLead: a copy whose text a later recipe leaves nothing of, and that an editor makes the lead, matches nothing.
func TestBlankLead(t *testing.T) {
	x := openTest(t, t.TempDir(), func(c *Config) { c.Recipe = func() (string, error) { return "a", nil } })
	defer func() { _ = x.Close() }()
	_, err := x.Add(t.Context(), []Mutation{{Seq: 1, At: testStart, Article: article("a", "same", 0x55<<48)},
		{Seq: 2, At: testStart, Article: article("b", "same", 0x55<<48)}})
	testbed.OK(t, err)
	blank := func(string, string, time.Time) *Article { return &Article{Blank: true} }
	if _, err := x.Reindex(t.Context(), ReindexConfig{Recipe: "b", Analyze: blank, Batch: 7}, func() {}); err != nil {
		t.Fatal(err)
	}
	decideTest(t, x, DecisionRequest{Kind: MakeLead, Item: "b"})
	if f := x.tables.Rows.Flags(2); f&resident.Blank == 0 || f&resident.Exemplar != 0 {
		t.Errorf("flags %b", f)
	}
	mustVerify(t, x)
}

// An undo of a reject that merged two clusters emits an event with the cluster that the
// item returns to, not the one that it was merged into (found by TestModel).
func TestEventOfUndoNamesTheClusterOfTheItem(t *testing.T) {
	x := openTest(t, t.TempDir(), nil)
	defer func() { _ = x.Close() }()
	_, err := x.Add(context.Background(), []Mutation{
		{Seq: 1, At: testStart, Article: article("a", "first", 0x0123456789abcdef)},
		{Seq: 2, At: testStart, Article: article("b", "second", 0xfedcba9876543210)},
	})
	testbed.OK(t, err)
	d := decideTest(t, x, DecisionRequest{Kind: Merge, Cluster: 2, Into: 1})
	undo := decideTest(t, x, DecisionRequest{Kind: Undo, Undo: d.Number})
	if len(undo.Events) != 1 || undo.Events[0].ID != "b" || undo.Events[0].Cluster != 2 {
		t.Errorf("events of the undo: %+v", undo.Events)
	}
	item, err := x.Item(context.Background(), "b")
	testbed.OK(t, err)
	if item.Event.Verdict != Unique || item.Event.Cluster != 2 {
		t.Errorf("after the undo: %+v", item.Event)
	}
	mustVerify(t, x)
}

// A lead that was withdrawn and comes back without a text begins a cluster of its own, and an editor can release its
// copy. A blank lead has no postings, as its sketch is empty (found by TestSweepChangesNoVerdict).
func TestBlankTextComesBack(t *testing.T) {
	x := openTest(t, t.TempDir(), nil)
	defer func() { _ = x.Close() }()
	blank := article("lead", "", 0)
	blank.Revision = 2
	_, err := x.Add(context.Background(), []Mutation{
		{Seq: 1, At: testStart, Article: article("lead", "a story", 0xfedcba9876543210)},
		{Seq: 2, At: testStart, Article: article("copy", "a story", 0xfedcba9876543210)},
		{Seq: 3, At: testStart, Withdraw: &Withdrawal{ID: "lead"}},
		{Seq: 4, At: testStart, Article: blank},
	})
	testbed.OK(t, err)
	decideTest(t, x, DecisionRequest{Kind: Release, Item: "copy"})
	for id, cluster := range map[string]uint32{"lead": 3, "copy": 2} {
		item, err := x.Item(context.Background(), id)
		if err != nil || item.Event.Verdict != Unique || item.Event.Cluster != cluster {
			t.Errorf("%s: %+v, %v", id, item, err)
		}
	}
	mustVerify(t, x)
	if x.tables.Rows.Flags(3)&resident.Exemplar != 0 {
		t.Error("a blank version has postings")
	}
}

// A lead that is withdrawn with promote, and one that an unrelated text replaces, gives way to the oldest copy, also to one
// of a cluster that an editor merged into its own.
func TestPromotedAcrossAMerge(t *testing.T) {
	for what, m := range map[string]Mutation{
		"withdrawn": {Withdraw: &Withdrawal{ID: "lead", Promote: true}},
		"replaced":  {Article: article("lead", "of something else", 0x00000000ffffffff)},
	} {
		x := openTest(t, t.TempDir(), nil)
		_, err := x.Add(context.Background(), []Mutation{
			{Seq: 1, At: testStart, Article: article("lead", "first", 0x0123456789abcdef)},
			{Seq: 2, At: testStart, Article: article("rejected", "second", 0xfedcba9876543210)},
			{Seq: 3, At: testStart, Article: article("copy", "second", 0xfedcba9876543210)},
		})
		testbed.OK(t, err)
		decideTest(t, x, DecisionRequest{Kind: Reject, Item: "rejected", Into: 1})
		late := article("late", "second", 0xfedcba9876543210)
		m.Seq, m.At = 4, testStart
		if _, err := x.Add(context.Background(), []Mutation{m, {Seq: 5, At: testStart, Article: late}}); err != nil {
			t.Fatalf("%s: %v", what, err)
		}
		is(t, x, "rejected", `unique of "" in 1`)
		is(t, x, "copy", `duplicate of "rejected" in 2`)
		is(t, x, "late", `duplicate of "rejected" in 1`)
		mustVerify(t, x)
		_ = x.Close()
	}
}

// What its source withdraws after an editor has blocked it does not come back with the undo of the block.
func TestWithdrawnWhileBlocked(t *testing.T) {
	for _, promote := range []bool{false, true} {
		x := openTest(t, t.TempDir(), nil)
		add := func(m Mutation) Outcome {
			m.At = testStart
			out := put(t, x, m)
			return out[0]
		}
		add(Mutation{Seq: 1, Article: article("a", "first", 0x0123456789abcdef)})
		add(Mutation{Seq: 2, Article: article("b", "first", 0x0123456789abcdef)})
		d := decideTest(t, x, DecisionRequest{Kind: Block, Cluster: 1})
		gone := Mutation{Seq: 3, Withdraw: &Withdrawal{ID: "a", Promote: promote}}
		if o := add(gone); !o.Changed || o.Event.Cause != CauseWithdrawal || o.Event.Previous != Withdrawn {
			t.Errorf("the withdrawal: %+v", o)
		}
		gone.Seq = 4
		if o := add(gone); o.Changed {
			t.Errorf("the same again: %+v", o)
		}
		var conflict *ConflictError
		undo := DecisionRequest{Kind: Undo, Undo: d.Number, By: "张三"}
		if _, err := x.Decide(context.Background(), undo); !errors.As(err, &conflict) {
			t.Errorf("the undo: %v", err)
		}
		is(t, x, "a", `withdrawn of "" in 1`)
		is(t, x, "b", `duplicate of "a" in 1`)
		mustVerify(t, x)
		_ = x.Close()
	}
}

// What an editor has blocked stays blocked when its source revises it. Once the block is undone, the revision is taken.
func TestBlockHoldsForRevisions(t *testing.T) {
	x := openTest(t, t.TempDir(), nil)
	defer func() { _ = x.Close() }()
	add := func(seq uint64, revision int64, text string) bool {
		a := article("a", text, 0x0123456789abcdef)
		a.Revision = revision
		out := put(t, x, Mutation{Seq: seq, At: testStart, Article: a})
		return out[0].Changed
	}
	add(1, 1, "first")
	d := decideTest(t, x, DecisionRequest{Kind: Block, Item: "a"})
	if add(2, 2, "second") {
		t.Error("a revision of a blocked item changes it")
	}
	is(t, x, "a", `withdrawn of "" in 1`)
	decideTest(t, x, DecisionRequest{Kind: Undo, Undo: d.Number})
	if !add(3, 2, "second") {
		t.Error("the revision is not taken once the block is undone")
	}
	mustVerify(t, x)
}

// An exemption ends with the text: a revision is compared, and no exemption is listed, which could not be undone.
func TestExemptionEndsWithItsText(t *testing.T) {
	x := openTest(t, t.TempDir(), nil)
	defer func() { _ = x.Close() }()
	for i, text := range []string{"first", "first, corrected"} {
		a := article("a", text, 0x0123456789abcdef)
		put(t, x, Mutation{Seq: uint64(i + 1), At: testStart, Article: a})
		if i == 0 {
			decideTest(t, x, DecisionRequest{Kind: Exempt, Item: "a"})
		}
		if list, err := x.Exemptions(context.Background(), 9); err != nil || len(list) != 1-i {
			t.Errorf("after %q: %v, %v", text, list, err)
		}
	}
}

// An exemption and another decision about its item are taken back in any order.
func TestExemptionIsUndoneByItself(t *testing.T) {
	for _, order := range [][2]int{{0, 1}, {1, 0}} {
		x := openTest(t, t.TempDir(), nil)
		a := article("a", "first", 0x0123456789abcdef)
		put(t, x, Mutation{Seq: 1, At: testStart, Article: a})
		before := visibleState(t, x)
		var made [2]*Decision
		for i, kind := range []string{Exempt, Block} {
			made[i] = decideTest(t, x, DecisionRequest{Kind: kind, Cluster: 1})
		}
		for _, i := range order {
			decideTest(t, x, DecisionRequest{Kind: Undo, Undo: made[i].Number})
		}
		for i, line := range visibleState(t, x)[:2] {
			if line != before[i] {
				t.Errorf("%q, before %q", line, before[i])
			}
		}
		if list, err := x.Exemptions(context.Background(), 9); err != nil || len(list) != 0 {
			t.Errorf("%v, %v", list, err)
		}
		mustVerify(t, x)
		_ = x.Close()
	}
}

// The label of a rejected item names what an editor says it copies, not what it had been judged against.
func TestLabelOfAnotherCluster(t *testing.T) {
	x := openTest(t, t.TempDir(), nil)
	defer func() { _ = x.Close() }()
	licensed := SourcePolicy{Source: "licensed", Policy: SourceLicensed, By: "张三"}
	testbed.OK(t, x.SetSourcePolicy(context.Background(), licensed))
	c := article("c", "first", 0x0123456789abcdef)
	c.Source = "licensed"
	for i, a := range []*Article{article("a", "first", 0x0123456789abcdef), article("b", "second", 0xfedcba9876543210), c} {
		put(t, x, Mutation{Seq: uint64(i + 1), At: testStart, Article: a})
	}
	for _, want := range []Label{{A: "b", B: "c", Label: "same"}, {A: "b", B: "c", Label: "different"}} {
		req := DecisionRequest{Kind: Reject, Item: "c", Into: 2}
		if want.Label == "different" {
			req = DecisionRequest{Kind: Release, Item: "c"}
		}
		decideTest(t, x, req)
		if list, err := x.Labels(context.Background()); err != nil || len(list) != 1 || list[0] != want {
			t.Errorf("%+v, %v, want %+v", list, err, want)
		}
	}
}

// The lead of a merged cluster that has left it is no member again when one comes to the last copy, or to none.
func TestLeftLeadIsNoMember(t *testing.T) {
	x := openTest(t, t.TempDir(), nil)
	defer func() { _ = x.Close() }()
	decide, add := storyOf(t, x, "lead", "copy", "last")
	withdraw := func(seq uint64, id string) {
		w := &Withdrawal{ID: id, Promote: true}
		put(t, x, Mutation{Seq: seq, At: testStart, Withdraw: w})
	}
	add("into", 0x0f0f)
	add("another", 0x0f0e)
	decide(DecisionRequest{Kind: Merge, Cluster: 1, Into: 4})
	withdraw(6, "into") // the lead of the one leads the other
	copied := decide(DecisionRequest{Kind: Release, Item: "copy"})
	decide(DecisionRequest{Kind: Undo, Undo: copied.Number})
	copied = decide(DecisionRequest{Kind: Release, Item: "copy"})
	withdraw(7, "last")
	decide(DecisionRequest{Kind: MakeLead, Item: "another"})
	lead := decide(DecisionRequest{Kind: Release, Item: "lead"})
	decide(DecisionRequest{Kind: Undo, Undo: lead.Number})
	decide(DecisionRequest{Kind: Undo, Undo: copied.Number})
	if c, err := x.Cluster(context.Background(), 1); err != nil || c.Size != 3 {
		t.Errorf("%+v, %v", c, err)
	}
}

// TestUntitled: the beginning of a text without a title ends at a character, also where its first characters stand far
// apart.
func TestUntitled(t *testing.T) {
	x := openTest(t, t.TempDir(), nil)
	defer func() { _ = x.Close() }()
	a := article("a", "开"+strings.Repeat(" ", 310)+strings.Repeat("幕", 50), 0x55<<48)
	a.Title = ""
	_, err := x.Add(t.Context(), []Mutation{{Seq: 1, At: testStart, Article: a}})
	testbed.OK(t, err)
	b, err := x.BriefByID(t.Context(), "a")
	if want := "开 " + strings.Repeat("幕", 38) + "…"; err != nil || b.Title != want {
		t.Errorf("%q, want %q; %v", b.Title, want, err)
	}
}

// TestNewestOfFrequentKey: of a key that more exemplars have than a look-up reads, it reads the newest ones, in memory and
// after a start with a snapshot and without: also where an older version has become an exemplar later.
func TestNewestOfFrequentKey(t *testing.T) {
	dir, p := t.TempDir(), &indextest.Press{Rand: rand.New(rand.NewPCG(3, 4))}
	open := func() *Index {
		return openTest(t, dir, func(c *Config) {
			*c.Policy, c.SweepEvery = DefaultPolicy(), -1
			c.Policy.Judged, c.Policy.Passages, c.Policy.Distance, c.Policy.MaxS = 3, 3, 0, 0 // found by keys only
		})
	}
	x := open()
	licensed := SourcePolicy{By: "张三", Source: "agency", Policy: SourceLicensed}
	_, err := x.EditNow(t.Context(), &Edit{Source: &licensed})
	testbed.OK(t, err)
	body := p.Words(40)
	for i := range 7 {
		a := indextest.ArticleOf(fmt.Sprint("a", i), string(body))
		if a.Source = "agency"; i == 1 {
			a.Source = ""
		}
		put(t, x, Mutation{Seq: uint64(i + 1), At: testStart.Add(time.Duration(i) * time.Second), Article: a})
	}
	decideTest(t, x, DecisionRequest{Kind: Release, Item: "a1"})
	body[20] = '本'
	for _, state := range []string{"in memory", "with a snapshot", "without one"} {
		e, err := x.Check(t.Context(), indextest.ArticleOf("b", string(body)), seconds(testStart)+60)
		if err != nil || e.Verdict != Suspect || e.Of != "a4" {
			t.Errorf("%s: %s of %q, want a suspect of a4; %v", state, e.Verdict, e.Of, err)
		}
		testbed.OK(t, errors.Join(x.Snapshot(t.Context()), x.Close()))
		if state == "with a snapshot" {
			testbed.OK(t, os.Remove(filepath.Join(dir, SnapshotFileName)))
		}
		x = open()
	}
	mustVerify(t, x)
	testbed.OK(t, x.Close())
}

// TestReleaseNamesOneCluster: which copy's number a released item gets for its cluster is the same on every service.
func TestReleaseNamesOneCluster(t *testing.T) {
	x := openTest(t, t.TempDir(), nil)
	defer func() { _ = x.Close() }()
	seq := uint64(0)
	add := func(id, text string, fingerprint uint64) {
		seq++
		put(t, x, Mutation{Seq: seq, At: testStart, Article: article(id, text, fingerprint)})
	}
	add("a", "a", 0x55<<48)
	add("b", "b", 0x55<<48|1)
	decideTest(t, x, DecisionRequest{Kind: MakeLead, Item: "b"})
	decideTest(t, x, DecisionRequest{Kind: Release, Item: "a"}) // of the clusters 1 and 2, each has what the other founded
	add("c", "a", 0x55<<48)
	decideTest(t, x, DecisionRequest{Kind: MakeLead, Item: "c"})
	decideTest(t, x, DecisionRequest{Kind: Merge, Cluster: 2, Into: 1})
	for i := range uint64(8) {
		add(fmt.Sprint("lead", i), fmt.Sprint(i), i*0x9e3779b97f4a7c15+99)
		add(fmt.Sprint("copy", i), fmt.Sprint(i), i*0x9e3779b97f4a7c15+99)
		decideTest(t, x, DecisionRequest{Kind: Merge, Cluster: uint32(seq) - 1, Into: 1})
	}
	d := decideTest(t, x, DecisionRequest{Kind: Release, Item: "a"})
	if got := d.Events[0].Cluster; got != 3 {
		t.Errorf("cluster %d, want 3, the number of the first copy", got)
	}
	mustVerify(t, x)
}
