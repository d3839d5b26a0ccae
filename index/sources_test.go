package index

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"jianguo/index/sources"
)

func setSource(t *testing.T, x *Index, source, policy string) {
	t.Helper()
	if err := x.SetSourcePolicy(context.Background(), SourcePolicy{Source: source, Policy: policy, By: "张三"}); err != nil {
		t.Fatal(err)
	}
}

// TestPoliciesDecide: what a licensed source copies is accepted and linked;
// what a preferred one copies becomes its own, but for what an editor chose.
func TestPoliciesDecide(t *testing.T) {
	ctx := context.Background()
	x := openTest(t, t.TempDir(), nil)
	defer func() { _ = x.Close() }()
	seq := uint64(0)
	add := func(id, source string, fp uint64) Event {
		t.Helper()
		seq++
		a := article(id, id, fp)
		a.Source = source
		checked, err := x.Check(ctx, a, seconds(testStart))
		if err != nil {
			t.Fatal(err)
		}
		out, err := x.Add(ctx, []Mutation{{Seq: seq, At: testStart.Add(time.Duration(seq) * time.Second), Article: a}})
		if err != nil {
			t.Fatal(err)
		}
		e := out[0].Event
		if checked.Verdict != e.Verdict || checked.Rule != e.Rule || checked.Of != e.Of {
			t.Errorf("%s was foretold to be %s by %s of %q", id, checked.Verdict, checked.Rule, checked.Of)
		}
		mustVerify(t, x)
		return e
	}
	is := func(id, want string) {
		t.Helper()
		it, err := x.Item(ctx, id)
		if err != nil {
			t.Fatal(err)
		}
		if got := fmt.Sprintf("%s %s of %q in %d", it.Event.Verdict, it.Event.Rule, it.Event.Of, it.Event.Cluster); got != want {
			t.Errorf("%s is %s, want %s", id, got, want)
		}
	}
	setSource(t, x, "licensed", SourceLicensed)
	setSource(t, x, "preferred", SourcePreferred)
	setSource(t, x, "preferred too", SourcePreferred)
	setSource(t, x, "watched", SourceWatched)

	add("first", "watched", 0xf0)
	if e := add("reprint", "licensed", 0xf1); e.Verdict != Unique || e.Rule != ByLicence || e.Of != "first" || e.Cluster != 2 || !strings.HasPrefix(e.Why, "licensed") {
		t.Errorf("%+v", e)
	}
	add("copy", "", 0xf2)
	is("copy", `duplicate hamming of "first" in 1`)
	if e := add("original", "preferred", 0xf4); e.Verdict != Unique || e.Rule != ByPreference || e.Of != "first" || e.Cluster != 1 {
		t.Errorf("%+v", e)
	}
	is("first", `duplicate preferred of "original" in 1`)
	is("copy", `duplicate hamming of "first" in 1`)
	is("reprint", `unique licensed of "first" in 2`)
	add("late copy", "", 0xf0|1<<60)
	is("late copy", `duplicate hamming of "original" in 1`) // by the text of the earlier lead, which stays an exemplar
	add("another", "preferred too", 0xf4)
	is("another", `duplicate hamming of "original" in 1`)

	// The other way round: a licensed lead is not rejected.
	add("licensed first", "licensed", 0xf000)
	add("licensed copied", "", 0xf001)
	add("licensed original", "preferred", 0xf002)
	is("licensed original", `unique preferred of "licensed first" in 7`)
	is("licensed first", `unique licensed of "licensed original" in 9`)
	is("licensed copied", `duplicate hamming of "licensed first" in 7`)

	// What an editor chose stays, and so does what was blocked.
	add("chosen", "", 0xf00000)
	add("passed over", "", 0xf00001)
	if _, err := x.Decide(ctx, DecisionRequest{Kind: MakeLead, Item: "passed over", By: "张三"}); err != nil {
		t.Fatal(err)
	}
	add("against an editor", "preferred", 0xf00002)
	is("against an editor", `duplicate hamming of "passed over" in 10`)
	add("blocked", "", 0xf0000000)
	if _, err := x.Decide(ctx, DecisionRequest{Kind: Block, Item: "blocked", By: "张三"}); err != nil {
		t.Fatal(err)
	}
	for source, id := range map[string]string{"licensed": "b1", "preferred": "b2"} {
		if e := add(id, source, 0xf0000001); e.Verdict != Duplicate || e.Rule != ByBlocked {
			t.Errorf("%s of something blocked: %+v", source, e)
		}
	}
	// A released founder leads elsewhere, and the story stays the original's.
	if _, err := x.Decide(ctx, DecisionRequest{Kind: Release, Item: "first", By: "张三"}); err != nil {
		t.Fatal(err)
	}
	if c, err := x.Cluster(ctx, 1); err != nil || c.Lead.ID != "original" {
		t.Errorf("%+v, %v", c, err)
	}
	mustVerify(t, x)
	setSource(t, x, "licensed", SourceNormal)
	add("no longer licensed", "licensed", 0xf002)
	is("no longer licensed", `duplicate hamming of "licensed original" in 7`)
}

// TestSourcesFile: the file says what is in force; edits of it win at the next
// start, and a file that is only older does not.
func TestSourcesFile(t *testing.T) {
	ctx := context.Background()
	dir := t.TempDir()
	path := filepath.Join(dir, SourcesFileName)
	x := openTest(t, dir, nil)
	if _, err := os.Stat(path); err == nil {
		t.Error("a file that says nothing was written")
	}
	const odd = " a\tname\n\"with\" everything "
	setSource(t, x, "晨帆网", SourceLicensed)
	setSource(t, x, odd, SourceWatched)
	older, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	setSource(t, x, "海岬 气象台", SourcePreferred)
	setSource(t, x, "晨帆网", SourceWatched)
	in := func(want string) {
		t.Helper()
		if got := fmt.Sprint(x.policies.InForce()); got != want {
			t.Errorf("in force is %s, want %s", got, want)
		}
		raw, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		listed, change, err := sources.Parse(string(raw))
		log, lerr := x.SourcePolicyLog(ctx, 1)
		if err != nil || lerr != nil || fmt.Sprint(listed) != want || uint64(change) != log[0].Number {
			t.Errorf("the file says %v after change %d: %v", listed, change, err)
		}
	}
	reopen := func(text string) {
		t.Helper()
		if err := x.Close(); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		x = openTest(t, dir, nil)
	}
	all := fmt.Sprint(map[string]string{odd: SourceWatched, "晨帆网": SourceWatched, "海岬 气象台": SourcePreferred})
	in(all)
	reopen(string(older)) // a crash between the catalogue and the file
	in(all)
	// Edited, though older: the edit wins, the rest is the catalogue's.
	reopen(strings.Replace(string(older), "licensed\t晨帆网", "preferred\t新社", 1))
	in(fmt.Sprint(map[string]string{odd: SourceWatched, "新社": SourcePreferred, "海岬 气象台": SourcePreferred}))
	log, err := x.SourcePolicyLog(ctx, 1)
	if err != nil || log[0].By != SourcesFileName || log[0].Source != "晨帆网" && log[0].Source != "新社" {
		t.Errorf("the edit is recorded as %+v, %v", log, err)
	}
	// Written by hand: taken as it stands.
	reopen("licensed 只有它\r\n")
	in(fmt.Sprint(map[string]string{"只有它": SourceLicensed}))
	if err := x.Close(); err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	x = openTest(t, dir, nil)
	in(fmt.Sprint(map[string]string{"只有它": SourceLicensed}))
	mustVerify(t, x)
	if err := x.Close(); err != nil {
		t.Fatal(err)
	}
	for _, text := range []string{"loved 晨帆网\n", "licensed\n", "licensed \"\n", "licensed \"\"\n", "licensed a\nnormal b\nwatched a\n", "# change minus one\n"} {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		_, err := Open(ctx, Config{Dir: dir})
		if err == nil || !strings.Contains(err.Error(), "line ") || !strings.Contains(err.Error(), SourcesFileName) {
			t.Errorf("%q: %v", text, err)
		}
	}
}
