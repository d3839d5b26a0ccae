//go:build quality

package eval

import (
	"io/fs"
	"maps"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"testing"

	"golang.org/x/sync/errgroup"

	"jianguo/compare"
	"jianguo/data"
	"jianguo/index"
	"jianguo/ingest"
	"jianguo/internal/fixture"
	"jianguo/internal/testbed"
	"jianguo/segment"
)

// TestAblation prints, for each number, rule and list of the judge, what moves when it is off: of the labelled pairs, how
// many become better and worse, and of the pairs that the corpora met in order, how many. What moves fewer than two labelled
// pairs and none in order has to go. Closed tables (units, numerals) are linted by tests instead.
//
//	JIANGUO_CORPUS=DIR go test ./ingest/eval -tags quality -run Ablation -v
func TestAblation(t *testing.T) {
	const never = 1 << 30
	rules := []struct {
		name string
		off  func(l *compare.Limits)
	}{
		{"news", func(l *compare.Limits) { l.News = never }},
		{"facts", func(l *compare.Limits) { l.Facts = never }},
		{"facts_short", func(l *compare.Limits) { l.FactsShort = l.Facts }},
		{"stale", func(l *compare.Limits) { l.Stale = 1 << 20 }},
		{"little", func(l *compare.Limits) { l.Little = 1 }},
		{"share", func(l *compare.Limits) { l.Share = 2 }},
		{"later, earlier", func(l *compare.Limits) { l.Later, l.Earlier = 0, 0 }},
		{"resembles", func(l *compare.Limits) { l.Resembles = 0 }},
		{"conflicts", func(l *compare.Limits) { l.Conflicts, l.DisagreeShort = never, 2 }},
		{"disagree_short", func(l *compare.Limits) { l.DisagreeShort = 2 }},
		{"subjects", func(l *compare.Limits) { l.Subjects = never }},
		{"slots", func(l *compare.Limits) { l.Slots = never }},
		{"rest", func(l *compare.Limits) { l.Rest = 1 }},
		{"recurs", func(l *compare.Limits) { l.Recurs = never }},
		{"matter", func(l *compare.Limits) { l.Matter = 0 }},
		{"look", func(l *compare.Limits) { l.Look = 0 }},
		{"pairs", func(l *compare.Limits) { l.Pairs = 0 }},
	}
	for _, name := range compare.Rules {
		rules = append(rules, struct {
			name string
			off  func(l *compare.Limits)
		}{name, func(l *compare.Limits) { l.Off = name }})
	}
	pairs := append(labelledPairs(t), metInOrder(t)...)
	judged := map[*ingest.Item]bool{}
	for _, p := range pairs {
		judged[p.later], judged[p.earlier] = true, true
	}
	items := slices.Collect(maps.Keys(judged))
	docs := docsOf(fixture.Shipped(), items)
	all := judge(pairs, compare.DefaultLimits(), docs)
	t.Logf("%d pairs", len(pairs))
	for _, rule := range rules {
		limits := compare.DefaultLimits()
		rule.off(&limits)
		moves(t, rule.name, pairs, all, judge(pairs, limits, docs))
	}
	for i, section := range residueWithout(t) {
		seg, err := segment.New(segment.Config{Data: section})
		testbed.OK(t, err)
		without := maps.Clone(docs)
		maps.Copy(without, docsOf(seg, items))
		moves(t, "residue: "+section.name, pairs, all, judge(pairs, compare.DefaultLimits(), without))
		if i == 0 { // the whole list: a section concerns no other items
			items = slices.DeleteFunc(items, func(it *ingest.Item) bool { return without[it].Form == docs[it].Form })
		}
	}
}

// TestLearnedAblation prints what moves when nothing is learned of sources: all articles have none.
func TestLearnedAblation(t *testing.T) {
	for file, labels := range map[string][]Label{"feed-dev.jsonl.gz": labelsOf(t, "testdata/labels-feeds.tsv"),
		"broadcast.jsonl.gz": nil} {
		var kinds [2][]compare.Kind
		var pairs []labelledPair
		for off := range 2 {
			items := documents(t, file)
			for _, it := range items {
				if off == 1 {
					it.Source = ""
				}
			}
			b := bench(t, items, nil)
			pairs = pairs[:0]
			for _, j := range judged(t, b, labels) {
				pairs, kinds[off] = append(pairs, labelledPair{label: j.Label}), append(kinds[off], kindOf(&j.Event))
			}
			for i := range b.events {
				pairs, kinds[off] = append(pairs, labelledPair{met: true}), append(kinds[off], kindOf(&b.events[i]))
			}
		}
		moves(t, "learned: "+file, pairs, kinds[0], kinds[1])
	}
}

func kindOf(e *index.Event) compare.Kind {
	switch {
	case e.Verdict == index.Unique && e.Series != 0:
		return compare.Series
	case e.Verdict == index.Unique:
		return compare.Unrelated
	case e.Verdict == index.Suspect:
		return compare.Suspect
	}
	return compare.Duplicate
}

// moves prints how the judgements of pairs change when a rule is off.
func moves(t *testing.T, rule string, pairs []labelledPair, all, off []compare.Kind) {
	t.Helper()
	moved, better, worse, met := 0, 0, 0, 0
	for i, kind := range off {
		was, is := pairs[i].cost(all[i]), pairs[i].cost(kind)
		switch {
		case kind == all[i]:
			continue
		case pairs[i].met:
			met++
			continue
		case is < was:
			better++
		case is > was:
			worse++
		}
		moved++
	}
	t.Logf("%-16s moves %4d: better %3d, worse %3d; in order %4d", rule, moved, better, worse, met)
	if moved < 2 && met == 0 {
		t.Errorf("%s moves %d pairs: it has to go", rule, moved)
	}
}

func judge(pairs []labelledPair, l compare.Limits, docs map[*ingest.Item]*compare.Doc) []compare.Kind {
	kinds := make([]compare.Kind, len(pairs))
	each(len(pairs), func(i int) { kinds[i] = compare.Judge(docs[pairs[i].later], docs[pairs[i].earlier], &l).Kind })
	return kinds
}

// docsOf prepares items to be compared.
func docsOf(seg *segment.Segmenter, items []*ingest.Item) map[*ingest.Item]*compare.Doc {
	docs := make([]*compare.Doc, len(items))
	each(len(items), func(i int) {
		text := ingest.Prepare(seg, items[i]).Text
		docs[i] = compare.NewDoc(&text)
	})
	out := map[*ingest.Item]*compare.Doc{}
	for i, it := range items {
		out[it] = docs[i]
	}
	return out
}

// each calls f with 0 to n-1 on all processors.
func each(n int, f func(i int)) {
	var g errgroup.Group
	g.SetLimit(runtime.GOMAXPROCS(0))
	for i := range n {
		g.Go(func() error { f(i); return nil })
	}
	_ = g.Wait()
}

// residue is the shipped tables, with another list of page residue.
type residue struct {
	fs.FS
	name, list string
}

func (r residue) ReadFile(name string) ([]byte, error) {
	if name == "tables/residue.txt" {
		return []byte(r.list), nil
	}
	return fs.ReadFile(r.FS, name)
}

// residueWithout is an empty list, and the list without each of its sections: a heading, and what follows it.
func residueWithout(t *testing.T) []residue {
	t.Helper()
	list, err := fs.ReadFile(data.FS, "tables/residue.txt")
	testbed.OK(t, err)
	out := []residue{{data.FS, "all", ""}}
	sections := regexp.MustCompile(`(?m)^# (.+)\n(?:[^#\n].*\n|\n)+`).FindAllStringSubmatch(string(list), -1)
	for _, s := range sections {
		if strings.TrimSpace(s[0]) != "# "+s[1] {
			out = append(out, residue{data.FS, s[1], strings.Replace(string(list), s[0], "", 1)})
		}
	}
	return out
}

// metInOrder are the pairs that were judged when the news and the broadcasts came in order.
func metInOrder(t *testing.T) (pairs []labelledPair) {
	t.Helper()
	for _, file := range []string{"news-dev.jsonl.gz", "broadcast.jsonl.gz"} {
		b := bench(t, documents(t, file), nil)
		for i := range b.events {
			if e := &b.events[i]; e.Of != "" && e.Rule != index.ByExact {
				pairs = append(pairs, labelledPair{b.items[i], b.items[b.position[e.Of]], Label{Adds: Trifle}, true})
			}
		}
	}
	return pairs
}

// labelledPair is a pair with its label.
type labelledPair struct {
	later, earlier *ingest.Item
	label          Label
	met            bool // in order; not labelled
}

// cost is how bad a judgement is: to lose news, or another matter, is worst.
func (p *labelledPair) cost(k compare.Kind) int {
	other := p.label.Kind == "template" || p.label.Kind == "different" || p.label.Kind == "denial"
	switch {
	case p.label.Adds == Nothing:
		return map[compare.Kind]int{compare.Duplicate: 0, compare.Suspect: 1, compare.Series: 2, compare.Unrelated: 2}[k]
	case p.label.Adds != Something:
		return 0
	case k == compare.Duplicate:
		return 3
	case other:
		return map[compare.Kind]int{compare.Suspect: 1}[k]
	}
	return map[compare.Kind]int{compare.Series: 1, compare.Unrelated: 1}[k]
}

func labelledPairs(t *testing.T) (pairs []labelledPair) {
	t.Helper()
	// Sentences that others have labelled as not the same.
	for _, set := range []string{"paws-dev.jsonl.gz", "wsdm-dev.jsonl.gz", "sohu-b-train.jsonl.gz"} {
		for _, p := range lines(t, set, ReadTextPair) {
			if !p.positive() {
				pairs = append(pairs, labelledPair{&ingest.Item{Body: p.Target}, &ingest.Item{Body: p.Source},
					Label{Kind: "different", Adds: Something}, false})
			}
		}
	}
	for _, set := range []struct {
		documents string
		labels    []Label
	}{
		{"news-dev.jsonl.gz", labelsOf(t, corpusFile(t, "news-dev-adds.tsv"))},
		{"news-dev.jsonl.gz", labelsOf(t, "testdata/labels-news.tsv")},
		{"short-dev.jsonl.gz", labelsOf(t, "testdata/labels-short.tsv")},
		{"short-dev.jsonl.gz", labelsOf(t, "testdata/held-short-2.tsv")},
		{"feed-dev.jsonl.gz", labelsOf(t, "testdata/labels-feeds.tsv")},
		{"techdocs.jsonl.gz", labelsOf(t, "testdata/labels-techdocs.tsv")},
	} {
		items := map[string]*ingest.Item{}
		for _, it := range documents(t, set.documents) {
			items[it.ID] = it
		}
		for _, l := range set.labels {
			a, b := items[l.A], items[l.B]
			if a == nil || b == nil || Half(l.A, l.B) != "a" {
				continue
			}
			pairs = append(pairs, labelledPair{b, a, l, false})
		}
	}
	return pairs
}
