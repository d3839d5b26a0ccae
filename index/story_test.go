package index

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"jianguo/index/indextest"
	"jianguo/index/resident"
	"jianguo/index/stories"
	"jianguo/internal/testbed"
)

// storyModel knows what each cluster follows, and what that was before each decision.
type storyModel struct {
	x       *Index
	follows map[uint32]uint32
	was     map[uint64]map[uint32]uint32 // by decision
	splits  map[uint64]uint32            // that hold: what each made the first of its story
	matters map[uint32]int               // by version
	texts   map[uint32]*Article          // likewise
	ids     map[uint32]string            // of versions
}

func (m *storyModel) first(cluster uint32) uint32 {
	for m.follows[cluster] != 0 {
		cluster = m.follows[cluster]
	}
	return cluster
}

// cluster is the cluster of an item, merges not followed.
func (m *storyModel) cluster(id string) uint32 {
	if own := m.x.Versions(id); len(own) > 0 {
		return m.x.tables.Rows.Cluster(own[0])
	}
	return 0
}

// tied lists the clusters with an exemplar of a matter, but for those of an item.
func (m *storyModel) tied(id string, matter int) (clusters []uint32) {
	rows := m.x.tables.Rows
	for version, of := range m.matters {
		cluster, lead := m.x.clusters.Lead(rows.Cluster(version))
		if of == matter && rows.Flags(version)&rows.Flags(lead)&resident.Exemplar != 0 && m.ids[version] != id &&
			m.ids[lead] != id {
			clusters = append(clusters, cluster)
		}
	}
	slices.Sort(clusters)
	return slices.Compact(clusters)
}

// arrives adds a telling, of a matter that some clusters tell of, or the next version of one that led a cluster (0: it led
// none).
func (m *storyModel) arrives(rt *rapid.T, seq int, id, body string, matter int, led uint32) {
	tied, was := m.tied(id, matter), m.x.Versions(id)
	e := add(rt, m.x, seq, id, body)
	version, a := m.x.Versions(id)[0], indextest.ArticleOf(id, body)
	m.matters[version], m.texts[version], m.ids[version] = matter, a, id
	if (e.Verdict == Suspect) != (len(tied) > 0) {
		rt.Fatalf("%s is %s, and tells of what %v tell", id, e.Verdict, tied)
	}
	of, want := uint32(0), version
	if len(tied) > 0 {
		of = m.x.clusters.Resolve(m.cluster(e.Of))
	}
	if led != 0 {
		alike := a.Sketch.Overlap(&m.texts[was[0]].Sketch.Outline) // of two matters by chance, too
		if policy := DefaultPolicy(); !policy.Unrelated(&alike) {
			want = led
		}
	}
	if e.Cluster != want {
		rt.Fatalf("%s is in cluster %d by its event, want %d", id, e.Cluster, want)
	}
	splits := slices.Collect(maps.Values(m.splits))
	if of != 0 && m.follows[want] == 0 && !m.before(of, want) && !slices.Contains(splits, want) {
		m.follows[want] = of
	}
	for _, other := range tied {
		a, b := m.first(want), m.first(other)
		if other != of && a != b && !slices.Contains(splits, a) && !slices.Contains(splits, b) {
			m.follows[max(a, b)] = min(a, b)
		}
	}
	if want := m.first(want); e.Story != want {
		rt.Fatalf("%s is in story %d by its event, want %d", id, e.Story, want)
	}
}

// before reports whether a cluster comes before another one in its story, or is that one.
func (m *storyModel) before(later, cluster uint32) bool {
	for later != 0 && later != cluster {
		later = m.follows[later]
	}
	return later != 0
}

// merge lists what a merge changes.
func (m *storyModel) merge(from, to uint32) map[uint32]uint32 {
	changes := map[uint32]uint32{from: to}
	for at := to; at != 0; at = m.follows[at] {
		if at == from {
			changes[to] = m.follows[from]
			return changes
		}
	}
	if first := m.first(from); first != from && first != m.first(to) {
		changes[first] = to
	}
	return changes
}

// join lists what a join changes.
func (m *storyModel) join(a, b uint32) map[uint32]uint32 {
	if m.first(a) < m.first(b) {
		a, b = b, a
	}
	return map[uint32]uint32{m.first(a): b}
}

// decide lets an editor decide, and notes what that changes.
func (m *storyModel) decide(rt *rapid.T, req DecisionRequest) {
	cluster := m.cluster(req.Item)
	req.Cluster, req.Into = m.x.clusters.Resolve(cluster), m.x.clusters.Resolve(req.Into)
	changes := map[string]map[uint32]uint32{Merge: m.merge(req.Cluster, req.Into), Join: m.join(req.Cluster, req.Into),
		Split: {req.Cluster: 0}}[req.Kind]
	copied := cluster != 0 && m.x.tables.Rows.Flags(m.x.Versions(req.Item)[0]).Verdict() == Duplicate
	d, err := m.x.Decide(context.Background(), req)
	var conflict *ConflictError
	if errors.As(err, &conflict) || errors.Is(err, ErrNotFound) || errors.Is(err, ErrQuery) {
		return
	}
	testbed.OK(rt, err)
	was := map[uint32]uint32{}
	m.was[d.Number] = was
	switch now := m.cluster(req.Item); {
	case req.Kind == Split:
		m.splits[d.Number] = req.Cluster
	case req.Kind == Undo:
		delete(m.was, d.Number)
		delete(m.splits, req.Undo)
		maps.Copy(m.follows, m.was[req.Undo])
	case req.Kind == Release && now != cluster: // a copy leads a cluster of its own; an undo merges that again
		was[now] = cluster
	case req.Kind == Release && copied: // or one that was merged; a suspect stays where it is
		changes = map[uint32]uint32{now: 0}
	}
	for cluster, to := range changes {
		was[cluster], m.follows[cluster] = m.follows[cluster], to
	}
}

// compare compares the stories of all items with those of the model.
func (m *storyModel) compare(rt *rapid.T) {
	_, last := m.x.Applied()
	retold, err := stories.Changed(context.Background(), m.x.reader, m.x.Versions, 0, last, 64)
	testbed.OK(rt, err)
	told := map[string]uint32{}
	for number, items := range retold {
		for _, it := range items {
			if told[it.ID] != 0 {
				rt.Fatalf("%s is in two stories", it.ID)
			}
			told[it.ID] = number
		}
	}
	for _, id := range m.ids {
		number, err := stories.Of(context.Background(), m.x.reader, m.cluster(id))
		if want := m.first(m.cluster(id)); err != nil || number != want || told[id] != want && told[id] != 0 {
			rt.Fatalf("%s is in story %d and told in %d, %v, want %d: %v", id, number, told[id], err, want, m.follows)
		}
	}
}

// TestStoriesAtRandom: tellings of three matters and their copies arrive and are revised, editors release, merge, join and
// split, decisions are taken back, the service restarts: each item is in the story that a simple model says.
func TestStoriesAtRandom(t *testing.T) {
	testbed.Check(t, func(rt *rapid.T) {
		dir := t.TempDir()
		x := openTexts(t, dir, 0)
		defer func() { _ = x.Close() }()
		m := &storyModel{x, map[uint32]uint32{}, map[uint64]map[uint32]uint32{}, map[uint64]uint32{}, map[uint32]int{},
			map[uint32]*Article{}, map[uint32]string{}}
		p := &indextest.Press{Rand: rand.New(rand.NewPCG(rapid.Uint64().Draw(rt, "seed"), 1))}
		matters := []string{string(p.Words(240)), string(p.Words(240)), string(p.Words(240))}
		bodies := map[string]string{}
		for seq := range rapid.IntRange(4, 14).Draw(rt, "steps") {
			id, matter, kept := fmt.Sprint("n", seq), rapid.IntRange(0, 2).Draw(rt, "matter"), slices.Sorted(maps.Keys(bodies))
			draw := func(what string) string {
				if len(kept) == 0 {
					return ""
				}
				return rapid.SampledFrom(kept).Draw(rt, what)
			}
			item, other := draw("item"), draw("other")
			step := rapid.SampledFrom([]string{"telling", "telling", "telling", "copy", "revise", "revise", Release, Merge,
				Join, Split, Undo, "restart"}).Draw(rt, "step")
			switch {
			case step == "telling", step == "revise" && item != "":
				led := uint32(0)
				if step == "revise" {
					id = item
					if cluster, lead := x.clusters.Lead(m.cluster(id)); lead == x.Versions(id)[0] {
						led = cluster
					}
				}
				bodies[id] = matters[matter] + string(p.Words(130))
				m.arrives(rt, seq+1, id, bodies[id], matter, led)
			case step == "copy" && item != "":
				if _, lead := x.clusters.Lead(m.cluster(item)); lead == 0 { // an editor's copy of what is gone: it rejects nothing
					continue
				}
				e := add(rt, x, seq+1, id, bodies[item])
				copied, version := x.Versions(item)[0], x.Versions(id)[0]
				bodies[id], m.matters[version], m.texts[version], m.ids[version] = bodies[item], m.matters[copied], m.texts[copied], id
				if want := m.first(e.Cluster); e.Story != want {
					rt.Fatalf("%s is in story %d by its event, want %d", id, e.Story, want)
				}
			case step == "restart":
				testbed.OK(rt, x.Close())
				x = openTexts(t, dir, 0)
				m.x = x
			case item != "":
				m.decide(rt, DecisionRequest{Kind: step, By: "张三", At: testStart, Item: item, Into: m.cluster(other),
					Undo: uint64(rapid.IntRange(1, 6).Draw(rt, "undo"))})
			}
			m.compare(rt)
		}
		mustVerify(rt, x)
	})
}

func add(t rapid.TB, x *Index, seq int, id, body string) Event {
	t.Helper()
	at := testStart.Add(time.Duration(seq) * time.Minute)
	out := put(t, x, Mutation{Seq: uint64(seq), At: at, Article: indextest.ArticleOf(id, body)})
	return out[0].Event
}

// told fails the test if a story has other tellings. Adds may differ by a tenth: characters are counted, words are not.
func told(t *testing.T, x *Index, what string, story uint32, want []stories.Telling) {
	t.Helper()
	got, err := stories.Tellings(t.Context(), x.reader, story)
	for i := range got {
		if c := len(want) > i && want[i].Adds > 0; c && got[i].Adds > want[i].Adds*9/10 && got[i].Adds < want[i].Adds*11/10 {
			got[i].Adds = want[i].Adds
		}
	}
	if err != nil || !slices.Equal(got, want) {
		t.Errorf("%s: %v %v, want %v", what, got, err, want)
	}
}

// TestJoin: the later of two stories that an editor joins follows the earlier one, whichever is named first, and adds what
// its text has of its own; that is unknown if a text is gone. A suspect that is released stays in its story.
func TestJoin(t *testing.T) {
	x := openTexts(t, t.TempDir(), 0)
	defer func() { _ = x.Close() }()
	p := &indextest.Press{Rand: rand.New(rand.NewPCG(8, 5))}
	shared := string(p.Words(200))
	add(t, x, 1, "n1", shared+string(p.Words(200)))
	add(t, x, 2, "n2", string(p.Words(150)))
	add(t, x, 3, "n3", string(p.Words(150)))
	add(t, x, 4, "n4", shared+string(p.Words(200)))
	decideTest(t, x, DecisionRequest{Kind: Release, Item: "n4"})
	tells := func(what string, story uint32, want ...stories.Telling) { t.Helper(); told(t, x, what, story, want) }
	one := stories.Telling{Cluster: 1}
	released := stories.Telling{Cluster: 4, Follows: 1, Adds: 200}
	tells("released", 1, one, released)
	d := decideTest(t, x, DecisionRequest{Kind: Join, Cluster: 1, Into: 3})
	tells("joined", 1, one, stories.Telling{Cluster: 3, Follows: 1, Adds: 150}, released)
	if len(d.Events) != 1 || d.Events[0].ID != "n3" || d.Events[0].Story != 1 {
		t.Errorf("events of the join: %+v", d.Events)
	}
	for _, req := range []DecisionRequest{{Kind: Join, Cluster: 3, Into: 4}, {Kind: Split, Cluster: 1}} {
		req.By = "张三"
		var conflict *ConflictError
		if _, err := x.Decide(t.Context(), req); !errors.As(err, &conflict) {
			t.Errorf("%s %d is no conflict: %v", req.Kind, req.Cluster, err)
		}
	}
	decideTest(t, x, DecisionRequest{Kind: Undo, Undo: d.Number})
	decideTest(t, x, DecisionRequest{Kind: Split, Cluster: 4})
	tells("split", 1, one)
	decideTest(t, x, DecisionRequest{Kind: Join, Cluster: 4, Into: 1})
	tells("joined again", 1, one, released)
	mustVerify(t, x)
	x.matcher.Uncache(2)
	if _, err := x.conn.ExecContext(t.Context(), `DELETE FROM texts WHERE ordinal = 2`); err != nil {
		t.Fatal(err)
	}
	decideTest(t, x, DecisionRequest{Kind: Join, Cluster: 2, Into: 4})
	tells("a text is gone", 1, one, stories.Telling{Cluster: 2, Follows: 4, Adds: stories.Unknown}, released)
	blank := indextest.ArticleOf("blank", "")
	blank.Blank = true // it has no sketch
	put(t, x, Mutation{Seq: 5, At: testStart.Add(time.Hour), Article: blank})
	decideTest(t, x, DecisionRequest{Kind: Join, Cluster: 5, Into: 3})
	tells("a blank one", 3, stories.Telling{Cluster: 3}, stories.Telling{Cluster: 5, Follows: 3, Adds: stories.Unknown})
}

// TestJoinWithoutLead: the filter learns of a join, and of its undo, though the first telling of the story that moves was
// withdrawn and has no lead.
func TestJoinWithoutLead(t *testing.T) {
	x := openTexts(t, t.TempDir(), 0)
	defer func() { _ = x.Close() }()
	p := &indextest.Press{Rand: rand.New(rand.NewPCG(3, 5))}
	shared := string(p.Words(200))
	add(t, x, 1, "n1", string(p.Words(150)))
	add(t, x, 2, "n2", shared+string(p.Words(130)))
	add(t, x, 3, "n3", shared+string(p.Words(130)))
	gone := Mutation{Seq: 4, At: testStart.Add(time.Hour), Withdraw: &Withdrawal{ID: "n2", Promote: true}}
	put(t, x, gone)
	told := func(req DecisionRequest, story uint32, want ...uint32) uint64 {
		t.Helper()
		_, seen := x.Applied()
		d := decideTest(t, x, req)
		if len(d.Events) != 1 || d.Events[0].ID != "n3" || d.Events[0].Story != story {
			t.Errorf("%s: events %+v", req.Kind, d.Events)
		}
		_, last := x.Applied()
		changed, err := stories.Changed(t.Context(), x.reader, x.Versions, seen, last, 64)
		var tellings []uint32
		for _, it := range changed[story] {
			tellings = append(tellings, it.Telling)
		}
		if slices.Sort(tellings); err != nil || !slices.Equal(tellings, want) {
			t.Errorf("%s: the filter is told %v, %v; want tellings %v in story %d", req.Kind, changed, err, want, story)
		}
		return d.Number
	}
	joined := told(DecisionRequest{Kind: Join, Cluster: 3, Into: 1}, 1, 1, 2, 3)
	told(DecisionRequest{Kind: Undo, Undo: joined}, 2, 2, 3)
	mustVerify(t, x)
}

// TestMergedThenRevised: an item whose cluster was merged leaves that story with its next version, and is in one story
// alone, whatever that version is.
func TestMergedThenRevised(t *testing.T) {
	p := &indextest.Press{Rand: rand.New(rand.NewPCG(6, 3))}
	first, second, third := string(p.Words(150)), string(p.Words(150)), string(p.Words(150))
	for body, want := range map[string]map[uint32][]string{
		string(p.Words(150)): {1: {"n1"}, 2: nil, 4: {"n2"}},
		third:                {1: {"n1"}, 2: nil, 3: {"n3", "n2"}},
	} {
		x := openTexts(t, t.TempDir(), 0)
		add(t, x, 1, "n1", first)
		add(t, x, 2, "n2", second)
		add(t, x, 3, "n3", third)
		decideTest(t, x, DecisionRequest{Kind: Merge, Cluster: 2, Into: 1})
		_, seen := x.Applied()
		add(t, x, 4, "n2", body)
		_, last := x.Applied()
		changed, err := stories.Changed(t.Context(), x.reader, x.Versions, seen, last, 64)
		told := map[uint32][]string{}
		for number, items := range changed {
			told[number] = nil
			for _, it := range items {
				told[number] = append(told[number], it.ID)
			}
		}
		if err != nil || !maps.EqualFunc(told, want, slices.Equal) {
			t.Errorf("the filter is told %v, %v; want %v", told, err, want)
		}
		mustVerify(t, x)
		_ = x.Close()
	}
}

// TestRevisedTelling: a telling that is revised adds what its new text adds, and leaves its story with a text of another
// matter, while its copies and what follows it stay; what an editor joined stays where it is with another text of its matter.
func TestRevisedTelling(t *testing.T) {
	x := openTexts(t, t.TempDir(), 0)
	defer func() { _ = x.Close() }()
	p := &indextest.Press{Rand: rand.New(rand.NewPCG(9, 2))}
	tells := func(what string, story uint32, want ...stories.Telling) { t.Helper(); told(t, x, what, story, want) }
	one := stories.Telling{Cluster: 1}
	text, matter, more := string(p.Words(200)), string(p.Words(200)), string(p.Words(100))
	add(t, x, 1, "n1", matter)
	add(t, x, 2, "n2", matter+more)
	tells("as it arrived", 1, one, stories.Telling{Cluster: 2, Follows: 1, Adds: 100})
	more += string(p.Words(150))
	revised := add(t, x, 3, "n2", matter+more)
	tells("revised", 1, one, stories.Telling{Cluster: 2, Follows: 1, Adds: 250})
	if revised.Cluster != 2 || revised.Facts.New.Characters < 225 {
		t.Errorf("the revision: %+v", revised)
	}
	add(t, x, 4, "n4", matter+more)
	add(t, x, 5, "n5", matter+more+string(p.Words(150)))
	tells("with another one", 1, one, stories.Telling{Cluster: 2, Follows: 1, Adds: 250},
		stories.Telling{Cluster: 5, Follows: 2, Adds: 150})
	_, seen := x.Applied()
	if e := add(t, x, 6, "n2", text); e.Verdict != Unique || e.Story != 6 {
		t.Errorf("of another matter: %+v", e)
	}
	tells("left", 1, one, stories.Telling{Cluster: 2, Follows: 1, Adds: 250}, stories.Telling{Cluster: 5, Follows: 2, Adds: 150})
	_, last := x.Applied()
	told, err := stories.Changed(t.Context(), x.reader, x.Versions, seen, last, 64)
	if items := told[1]; err != nil || len(told[6]) != 1 || len(items) != 3 || items[1].ID != "n4" || items[1].Telling != 2 {
		t.Errorf("the filter is told %v, %v", told, err)
	}
	if it, err := x.Item(t.Context(), "n4"); err != nil || it.Event.Cause != CausePromotion {
		t.Errorf("the copy: %+v, %v", it, err)
	}
	decideTest(t, x, DecisionRequest{Kind: Join, Cluster: 6, Into: 1})
	if e := add(t, x, 7, "n2", text+string(p.Words(100))); e.Story != 1 || e.Cluster != 6 {
		t.Errorf("after the join: %+v", e)
	}
	tells("joined", 1, one, stories.Telling{Cluster: 2, Follows: 1, Adds: 250},
		stories.Telling{Cluster: 5, Follows: 2, Adds: 150}, stories.Telling{Cluster: 6, Follows: 1, Adds: 300})
	mustVerify(t, x)
}

// TestRevisedTellings: a licensed copy that is revised still tells the same, and a first telling that a revision ties to
// another story adds what its new text adds.
func TestRevisedTellings(t *testing.T) {
	x := openTexts(t, t.TempDir(), 0)
	defer func() { _ = x.Close() }()
	testbed.OK(t, x.SetSourcePolicy(t.Context(), SourcePolicy{Source: "licensed", Policy: SourceLicensed, By: "张三"}))
	p := &indextest.Press{Rand: rand.New(rand.NewPCG(4, 9))}
	matter, other := string(p.Words(200)), string(p.Words(400))
	seq := uint64(0)
	publish := func(id, source, body string) {
		t.Helper()
		seq++
		a := indextest.ArticleOf(id, body)
		a.Source = source
		put(t, x, Mutation{Seq: seq, At: testStart, Article: a})
	}
	adds := func(cluster uint32) int {
		t.Helper()
		told, err := stories.Tellings(t.Context(), x.reader, 1)
		i := slices.IndexFunc(told, func(o stories.Telling) bool { return o.Cluster == cluster })
		if err != nil || i < 0 {
			t.Fatalf("%v, %v", told, err)
		}
		return told[i].Adds
	}
	publish("n1", "", matter)
	publish("copy", "licensed", matter)
	publish("copy", "licensed", matter+"更正")
	if n := adds(2); n != 0 {
		t.Errorf("the copy adds %d", n)
	}
	publish("n4", "", other)
	publish("n4", "", matter+other+string(p.Words(300)))
	if n := adds(4); n < 630 || n > 770 {
		t.Errorf("the first telling of the other story adds %d", n)
	}
	mustVerify(t, x)
}

// TestMovedReason: the undo of a split, of a join or of a merge says again why a suspect is one, with its facts, and so does
// the undo of what was decided while its telling was somewhere else; that gives no reason for the verdict.
func TestMovedReason(t *testing.T) {
	x := openTexts(t, t.TempDir(), 0)
	defer func() { _ = x.Close() }()
	p := &indextest.Press{Rand: rand.New(rand.NewPCG(7, 4))}
	matter := string(p.Words(200))
	add(t, x, 1, "n1", matter)
	add(t, x, 2, "n2", string(p.Words(200)))
	was := add(t, x, 3, "n3", matter+string(p.Words(150)))
	check := func(what string, restored bool) {
		t.Helper()
		it, err := x.Item(t.Context(), "n3")
		if err != nil || len(it.InForce()) != 1 || it.InForce()[0].Number != was.Number {
			t.Fatalf("%s: %+v, %v", what, it, err)
		}
		e := &it.Event
		if restored && (e.Restores != was.Number || e.Facts == nil || e.Resemblance == nil || !strings.HasPrefix(e.Why, was.Why)) {
			t.Errorf("%s: %+v", what, e)
		}
	}
	undo := func(d *Decision) { t.Helper(); decideTest(t, x, DecisionRequest{Kind: Undo, Undo: d.Number}) }
	split := decideTest(t, x, DecisionRequest{Kind: Split, Cluster: 3})
	check("split", false)
	release := decideTest(t, x, DecisionRequest{Kind: Release, Item: "n3"})
	undo(release)
	check("released, undone", true)
	for _, req := range []DecisionRequest{{Kind: Join, Cluster: 3, Into: 2}, {Kind: Merge, Cluster: 3, Into: 2}} {
		d := decideTest(t, x, req)
		undo(d)
		check(req.Kind+", undone", true)
	}
	undo(split)
	check("split, undone", true)
	mustVerify(t, x)
}

// TestSplitHolds: what tells the same as two stories that an editor has split goes to one of them, and does not join
// them, until the split is taken back; nor does a later text of the item that was split off.
func TestSplitHolds(t *testing.T) {
	x := openTexts(t, t.TempDir(), 0)
	defer func() { _ = x.Close() }()
	p := &indextest.Press{Rand: rand.New(rand.NewPCG(4, 6))}
	matter, seq := string(p.Words(240)), 0
	tell := func(id string, story uint32) {
		t.Helper()
		seq++
		e := add(t, x, seq, id, matter+string(p.Words(130)))
		if second, err := stories.Of(t.Context(), x.reader, 2); e.Story != story || err != nil || seq > 2 && second != 2 {
			t.Errorf("%s is in story %d, want %d; 2 is in %d: %v", id, e.Story, story, second, err)
		}
	}
	tell("n1", 1)
	tell("n2", 1)
	d := decideTest(t, x, DecisionRequest{Kind: Split, Cluster: 2})
	tell("n3", 1)
	tell("n4", 1)
	decideTest(t, x, DecisionRequest{Kind: Undo, Undo: d.Number})
	if all, err := stories.Tellings(t.Context(), x.reader, 1); err != nil || len(all) != 4 {
		t.Errorf("after the undo: %v %v", all, err)
	}
	decideTest(t, x, DecisionRequest{Kind: Split, Cluster: 2})
	tell("n2", 2)
	mustVerify(t, x)
}

// TestRelated: a text that is unique and begins as an earlier one does tells its story: the event, a check of it, the
// filter and a restart say so, until the telling is split off.
func TestRelated(t *testing.T) {
	dir := t.TempDir()
	x := openTexts(t, dir, 0)
	defer func() { _ = x.Close() }()
	p := &indextest.Press{Rand: rand.New(rand.NewPCG(4, 8))}
	opening := string(p.Words(120))
	add(t, x, 1, "n1", opening+string(p.Words(190)))
	_, seen := x.Applied()
	body := opening + string(p.Words(190))
	checked, err := x.Check(t.Context(), indextest.ArticleOf("n2", body), uint32(testStart.Unix()))
	for _, e := range []Event{checked, add(t, x, 2, "n2", body)} {
		if err != nil || e.Verdict != Unique || e.Of != "" || e.Story != 1 {
			t.Errorf("%+v, %v: want a unique text in story 1", e, err)
		}
	}
	_, last := x.Applied()
	told, err := stories.Changed(t.Context(), x.reader, x.Versions, seen, last, 64)
	if items := told[1]; err != nil || len(items) != 2 || items[1].Telling != 2 || items[1].Adds < 150 {
		t.Errorf("the filter is told %v, %v", told, err)
	}
	testbed.OK(t, x.Close())
	x = openTexts(t, dir, 0)
	if e := add(t, x, 3, "n3", opening+string(p.Words(190))); e.Verdict != Unique || e.Story != 1 {
		t.Errorf("after a restart: %s in story %d", e.Verdict, e.Story)
	}
	decideTest(t, x, DecisionRequest{Kind: Split, Cluster: 2})
	if all, err := stories.Tellings(t.Context(), x.reader, 1); err != nil || len(all) != 2 {
		t.Errorf("after the split: %v, %v", all, err)
	}
	mustVerify(t, x)
}

// TestStoriesEnd: a round-up of two matters joins no stories, by itself or by what comes later; a text that repeats only
// the background of another one begins a story; and a story ends at its bound.
func TestStoriesEnd(t *testing.T) {
	x := openTexts(t, t.TempDir(), 0)
	defer func() { _ = x.Close() }()
	p := &indextest.Press{Rand: rand.New(rand.NewPCG(4, 5))}
	a, b, seq := string(p.Words(240)), string(p.Words(240)), 0
	is := func(body string, v Verdict, story uint32) {
		t.Helper()
		seq++
		id := fmt.Sprint("n", seq)
		checked, err := x.Check(t.Context(), indextest.ArticleOf(id, body), seconds(testStart))
		if err != nil || cmp.Or(checked.Story, uint32(seq)) != story {
			t.Errorf("the check says that %s is in story %d, want %d: %v", id, checked.Story, story, err)
		}
		if e := add(t, x, seq, id, body); e.Verdict != v || e.Story != story {
			t.Errorf("n%d is %s of %q in story %d, want %s in %d", seq, e.Verdict, e.Of, e.Story, v, story)
		}
	}
	is(a+string(p.Words(60)), Unique, 1)
	is(b+string(p.Words(60)), Unique, 2)
	is(a+string([]rune(b)[:220]), Suspect, 1)
	is(b+string(p.Words(130)), Suspect, 2)
	is(a+string(p.Words(130)), Suspect, 1)
	background := string(p.Words(240))
	is(string(p.Words(110))+background, Unique, 6)
	is(string(p.Words(110))+background, Unique, 7)
	c := string(p.Words(240))
	is(c+string(p.Words(130)), Unique, 8)
	for range DefaultPolicy().Tellings - 1 {
		is(c+string(p.Words(130)), Suspect, 8)
	}
	full := uint32(seq + 1)
	is(c+string(p.Words(130)), Suspect, full)
	mustVerify(t, x)
}

// TestStoriesUnread: a failed read says of no story that it has no items.
func TestStoriesUnread(t *testing.T) {
	x := openTest(t, t.TempDir(), nil)
	defer func() { _ = x.Close() }()
	storyOf(t, x, "lead", "copy")
	_, err := x.conn.ExecContext(t.Context(), `DROP TABLE members`) // which is read last
	testbed.OK(t, err)
	if changed, err := stories.Changed(t.Context(), x.reader, x.Versions, 0, 2, 64); err == nil || len(changed) > 0 {
		t.Errorf("%v, %v", changed, err)
	}
}
