package index

import (
	"context"
	"fmt"
	"math/bits"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"jianguo/index/indextest"
	"jianguo/internal/testbed"
)

// model applies mutations one by one, by brute force and without a file. It defines the
// correct result under the textbook rules. Its structure differs from the index on
// purpose: it keeps plain lists and searches all of them.
type model struct {
	distance int
	versions []*modelVersion
	clusters map[int]*modelCluster // by founder's number
	policies map[string]string     // of sources
	events   int
}

type modelVersion struct {
	number      int
	id          string
	revision    int64
	fingerprint uint64
	exact       string
	title       string
	source      string
	verdict     Verdict
	cluster     int
	blocked     bool
	exemplar    bool
	superseded  bool
	of          string
	rule        Rule
}

type modelCluster struct {
	lead    *modelVersion
	follows int // the telling that it comes after in its story; 0: none
}

// path is a cluster, what it follows, and so on.
func (m *model) path(cluster int) (path []int) {
	for ; cluster != 0; cluster = m.clusters[cluster].follows {
		path = append(path, cluster)
	}
	return path
}

// lead finds the cluster of an accepted version, which tells what another cluster tells, or nothing that was told. A
// lead keeps its cluster, unless its text is replaced.
func (m *model) lead(v, prev *modelVersion, tells int) {
	if v.cluster = v.number; prev != nil && m.clusters[prev.cluster].lead == prev && !m.replaces(v, prev) {
		v.cluster = prev.cluster
	}
	if m.clusters[v.cluster] == nil {
		m.clusters[v.cluster] = &modelCluster{}
	}
	if c := m.clusters[v.cluster]; tells != 0 && c.follows == 0 && !slices.Contains(m.path(tells), v.cluster) {
		c.follows = tells
	}
}

func newModel(distance int) *model {
	return &model{distance: distance, clusters: map[int]*modelCluster{}, policies: map[string]string{}}
}

func (m *model) latest(id string) *modelVersion {
	for _, v := range slices.Backward(m.versions) {
		if v.id == id {
			return v
		}
	}
	return nil
}

// match returns the lead that a text is a copy of, after a search of everything.
func (m *model) match(id string, fingerprint uint64, exact string) (of *modelVersion, cluster int, rule Rule) {
	type hit struct {
		distance, age int
		rule          Rule
		of            *modelVersion
		cluster       int
	}
	var hits []hit
	for _, v := range m.versions {
		if v.id == id || v.exact == "" {
			continue
		}
		lead := m.clusters[v.cluster].lead
		of, blocked := lead, lead != nil && lead.blocked
		if v.blocked {
			of, blocked = v, true
		}
		if of == nil || of.id == id {
			continue
		}
		h := hit{of: of, cluster: v.cluster, age: v.number}
		switch d := bits.OnesCount64(v.fingerprint ^ fingerprint); {
		case v.exact == exact:
			h.distance, h.rule = -1, ByExact
			if blocked {
				h.distance = -2
			}
			h.age = of.number
		case v.exemplar && d <= m.distance && fingerprint != 0 && v.fingerprint != 0:
			h.distance, h.rule = d, ByHamming
		default:
			continue
		}
		if blocked {
			h.rule = ByBlocked
		}
		hits = append(hits, h)
	}
	if len(hits) == 0 {
		return nil, 0, NoRule
	}
	best := slices.MinFunc(hits, func(a, b hit) int {
		if a.distance != b.distance {
			return a.distance - b.distance
		}
		return a.age - b.age
	})
	return best.of, best.cluster, best.rule
}

func (m *model) publish(a *Article) *modelVersion {
	prev := m.latest(a.ID)
	if prev != nil {
		stale := a.Revision != 0 && a.Revision <= prev.revision
		if stale || prev.verdict == Withdrawn && a.Revision <= prev.revision {
			return prev
		}
		if prev.verdict != Withdrawn && prev.exact == exactOf(a) && prev.title == a.Title {
			prev.revision = max(prev.revision, a.Revision)
			return prev
		}
	}
	v := &modelVersion{number: len(m.versions) + 1, id: a.ID, revision: a.Revision, fingerprint: uint64(a.Print.Fingerprint), exact: exactOf(a),
		title: a.Title, source: a.Source, verdict: Unique}
	if prev != nil && v.revision == 0 {
		v.revision = prev.revision
	}
	var yields *modelVersion
	tells := 0
	if v.exact != "" {
		if of, cluster, rule := m.match(a.ID, v.fingerprint, v.exact); of != nil {
			v.verdict, v.of, v.rule, v.cluster = Duplicate, of.id, rule, cluster
			switch {
			case rule == ByBlocked:
			case m.policies[v.source] == SourceLicensed:
				v.verdict, v.rule, tells = Unique, ByLicence, cluster
			case m.policies[v.source] == SourcePreferred && m.policies[of.source] != SourcePreferred:
				v.verdict, v.rule, yields = Unique, ByPreference, of
			}
		}
	}
	m.versions = append(m.versions, v)
	m.events++
	v.exemplar = v.verdict == Unique && v.exact != ""
	if v.verdict == Unique && yields == nil {
		m.lead(v, prev, tells)
	}
	if prev != nil {
		m.retire(prev, v)
	}
	if v.verdict == Unique {
		m.clusters[v.cluster].lead = v
	}
	if yields != nil {
		m.yield(yields, v)
	}
	return v
}

// replaces reports whether a version has nothing to do with the one that it revises.
func (m *model) replaces(v, prev *modelVersion) bool {
	return v.exact == "" || prev.exact == "" || bits.OnesCount64(v.fingerprint^prev.fingerprint) > m.distance
}

// yield replaces the lead old with v.
func (m *model) yield(old, v *modelVersion) {
	old.verdict, old.rule, old.of = Duplicate, ByPreference, v.id
	if m.policies[old.source] == SourceLicensed {
		old.verdict, old.rule, old.cluster = Unique, ByLicence, v.number
		m.clusters[v.number] = &modelCluster{lead: old, follows: v.cluster}
	}
	m.events++
}

func (m *model) retire(prev, v *modelVersion) {
	prev.superseded, prev.blocked = true, false
	c := m.clusters[prev.cluster]
	if c.lead != prev || v.verdict == Unique && v.cluster == prev.cluster {
		return
	}
	c.lead = nil
	if prev.verdict != Withdrawn {
		m.promote(prev.cluster)
	}
}

func (m *model) promote(cluster int) {
	m.clusters[cluster].lead = nil
	for _, v := range m.versions {
		if v.cluster == cluster && v.verdict == Duplicate && !v.superseded && v.exact != "" {
			v.verdict, v.exemplar, v.of, v.rule = Unique, true, "", NoRule
			m.clusters[cluster].lead = v
			m.events++
			return
		}
	}
}

func (m *model) withdraw(w *Withdrawal) *modelVersion {
	v := m.latest(w.ID)
	if v == nil {
		v = &modelVersion{number: len(m.versions) + 1, id: w.ID, revision: w.Revision, verdict: Withdrawn}
		v.cluster = v.number
		m.versions = append(m.versions, v)
		m.clusters[v.cluster] = &modelCluster{}
		m.events++
		return v
	}
	if w.Revision != 0 && w.Revision < v.revision {
		return v
	}
	if v.verdict == Withdrawn {
		v.revision = max(v.revision, w.Revision)
		return v
	}
	v.verdict, v.of, v.rule = Withdrawn, "", NoRule
	v.revision = max(v.revision, w.Revision)
	m.events++
	c := m.clusters[v.cluster]
	switch {
	case c.lead != v:
	case w.Promote:
		m.promote(v.cluster)
	case v.exact == "":
		c.lead = nil
	default:
		v.blocked = true
	}
	return v
}

func exactOf(a *Article) string {
	if a.Blank {
		return ""
	}
	return string(a.Exact[:])
}

// What the tests of the packages above have too.
var (
	article      = indextest.Article
	testStart    = indextest.Start
	drawMutation = indextest.Mutation
)

func mustVerify(t rapid.TB, x *Index) { t.Helper(); indextest.MustVerify(t, x) }

// put is Add of what has to succeed.
func put(t rapid.TB, x *Index, mutations ...Mutation) []Outcome {
	t.Helper()
	out, err := x.Add(context.Background(), mutations)
	testbed.OK(t, err)
	return out
}

func openTest(t testing.TB, dir string, change func(*Config)) *Index {
	t.Helper()
	p := DefaultPolicy()
	p.Rules = RulesHamming
	cfg := Config{Dir: dir, Policy: &p, Language: English}
	if change != nil {
		change(&cfg)
	}
	x, err := Open(context.Background(), cfg)
	testbed.OK(t, err)
	return x
}

// compare compares the whole state of an index with that of the model.
func (m *model) compare(t rapid.TB, x *Index) {
	t.Helper()
	ctx := context.Background()
	if _, events := x.Applied(); int(events) != m.events {
		t.Fatalf("%d events, want %d", events, m.events)
	}
	seen := map[string]bool{}
	for _, v := range slices.Backward(m.versions) {
		if seen[v.id] {
			continue
		}
		seen[v.id] = true
		it, err := x.Item(ctx, v.id)
		testbed.OK(t, err)
		got := fmt.Sprintf("%s %s %q %d r%d", it.Event.Verdict, it.Event.Rule, it.Event.Of, it.Event.Cluster, it.Event.Revision)
		want := fmt.Sprintf("%s %s %q %d r%d", v.verdict, v.rule, v.of, v.cluster, it.Event.Revision)
		if got != want {
			t.Fatalf("item %s is %s, want %s", v.id, got, want)
		}
	}
}
