package index

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"jianguo/internal/testbed"
)

func setSource(t *testing.T, x *Index, source, policy string) {
	t.Helper()
	testbed.OK(t, x.SetSourcePolicy(context.Background(), SourcePolicy{Source: source, Policy: policy, By: "张三"}))
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
		testbed.OK(t, err)
		out := put(t, x, Mutation{Seq: seq, At: testStart.Add(time.Duration(seq) * time.Second), Article: a})
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
		testbed.OK(t, err)
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

// TestPoliciesStay: policies are part of the catalogue, with the strictness of a source.
func TestPoliciesStay(t *testing.T) {
	ctx, dir := context.Background(), t.TempDir()
	x := openTest(t, dir, nil)
	setSource(t, x, "晨帆网", SourceLicensed)
	setSource(t, x, "海岬 气象台", SourcePreferred)
	setSource(t, x, "海岬 气象台", SourceNormal)
	strict := SourcePolicy{Source: "众览", Policy: SourceNormal, Strictness: "copies", By: "张三"}
	testbed.OK(t, x.SetSourcePolicy(ctx, strict))
	setSource(t, x, "众览", SourceWatched)
	setSource(t, x, "众览", SourceWatched)
	mustVerify(t, x)
	testbed.OK(t, x.Close())
	x = openTest(t, dir, nil)
	force := map[string]string{}
	for source, p := range x.SourcePolicies() {
		force[source] = p.Stored()
	}
	if want := map[string]string{"众览": "watched/copies", "晨帆网": "licensed"}; !maps.Equal(force, want) {
		t.Errorf("in force is %v, want %v", force, want)
	}
	if log, err := x.SourcePolicyLog(ctx, 9); err != nil || len(log) != 5 {
		t.Errorf("%d changes: %v", len(log), err)
	}
	strict.Strictness = "loose"
	if err := x.SetSourcePolicy(ctx, strict); !errors.Is(err, ErrQuery) {
		t.Errorf("a strictness that there is not: %v", err)
	}
	mustVerify(t, x)
}

// TestManySources: of names that clients make up, only the last ones stay in memory; what is known of the others is
// read again. Metrics have no name of a source.
func TestManySources(t *testing.T) {
	ctx := context.Background()
	r := prometheus.NewRegistry()
	x := openTest(t, t.TempDir(), func(c *Config) { c.Relaxed, c.Metrics = true, r })
	defer func() { _ = x.Close() }()
	const names, batch = 6000, 500
	seq := uint64(0)
	publish := func(sources ...string) {
		t.Helper()
		var all []Mutation
		for _, source := range sources {
			seq++
			a := article(fmt.Sprint("id-", seq), fmt.Sprint("text", seq), seq*0x9e3779b97f4a7c15)
			a.Source, a.Text.Body = source, fmt.Sprintf("第%d篇\n更多内容请下载客户端", seq)
			all = append(all, Mutation{Seq: seq, At: testStart, Article: a})
		}
		put(t, x, all...)
	}
	publish("海岬晚报", "海岬晚报", "海岬晚报", "海岬晚报", "海岬晚报")
	learned, err := x.Boilerplate(ctx, "海岬晚报")
	if err != nil || len(learned) != 1 {
		t.Fatalf("%+v %v", learned, err)
	}
	for n := 0; n < names; n += batch {
		var sources []string
		for i := range batch {
			sources = append(sources, fmt.Sprint("made-up-", n+i))
		}
		publish(sources...)
	}
	publish("海岬晚报")
	recent := reflect.ValueOf(&x.boilerplate).Elem().FieldByName("recent").Len()
	if recent > 5000 {
		t.Errorf("in memory: clauses of %d sources", recent)
	}
	if again, err := x.Boilerplate(ctx, "海岬晚报"); err != nil || len(again) != 1 || again[0].Text != learned[0].Text || again[0].Article != 6 {
		t.Errorf("after many other sources: %+v %v", again, err)
	}
	var stored int
	if err := x.reader.QueryRow(`SELECT count(*) FROM sources`).Scan(&stored); err != nil || stored != (names+batch-1)/batch*batch+1 {
		t.Errorf("%d sources are stored: %v", stored, err)
	}
	if shown, err := r.Gather(); err != nil || strings.Contains(fmt.Sprint(shown), "made-up") {
		t.Errorf("metrics: %v", err)
	}
	mustVerify(t, x)
}

// TestDecidedPassages: what editors decided about passages is listed, and looking for their sources reads all passages
// once.
func TestDecidedPassages(t *testing.T) {
	dir := t.TempDir()
	x := openTest(t, dir, nil)
	decide := func(source, state string) {
		t.Helper()
		p := SourcePassage{source, Passage{Text: "更多内容请下载客户端", State: state, By: "张三"}}
		if _, err := x.EditNow(t.Context(), &Edit{Passage: &p}); err != nil {
			t.Fatal(err)
		}
	}
	listed := func(ctx context.Context, want ...string) {
		t.Helper()
		var got []string
		list, err := x.DecidedPassages(ctx, 9)
		for _, p := range list {
			got = append(got, p.Source)
		}
		if slices.Sort(got); err != nil || !slices.Equal(got, want) {
			t.Errorf("%q %v, want %q", got, err, want)
		}
	}
	past, end := context.WithCancel(t.Context())
	end()
	decide("甲网", PassageIn)
	listed(t.Context(), "甲网")
	decide("乙网", "out")
	listed(past, "乙网", "甲网")
	decide("甲网", PassageLearned)
	listed(past, "乙网")
	if err := x.Close(); err != nil {
		t.Fatal(err)
	}
	x = openTest(t, dir, nil)
	defer func() { _ = x.Close() }()
	decide("丙网", PassageIn)
	listed(t.Context(), "丙网", "乙网")
	mustVerify(t, x)
}
