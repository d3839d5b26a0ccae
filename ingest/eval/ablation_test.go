//go:build quality

package eval

import (
	"testing"

	"jianguo/compare"
	"jianguo/index"
	"jianguo/ingest"
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
		{"share", func(l *compare.Limits) { l.Share = 2 }},
		{"little", func(l *compare.Limits) { l.Little = 0 }},
		{"later, earlier", func(l *compare.Limits) { l.Later, l.Earlier = 0, 0 }},
		{"resembles", func(l *compare.Limits) { l.Resembles = 0 }},
		{"conflicts", func(l *compare.Limits) { l.Conflicts, l.DisagreeShort = never, 2 }},
		{"disagree_short", func(l *compare.Limits) { l.DisagreeShort = 2 }},
		{"subjects", func(l *compare.Limits) { l.Subjects = never }},
		{"exchanged", func(l *compare.Limits) { l.Exchanged = never }},
		{"rest", func(l *compare.Limits) { l.Rest = 1 }},
		{"recurs", func(l *compare.Limits) { l.Recurs = never }},
		{"look", func(l *compare.Limits) { l.Look = 0 }},
	}
	for _, name := range compare.Rules {
		rules = append(rules, struct {
			name string
			off  func(l *compare.Limits)
		}{name, func(l *compare.Limits) { l.Off = name }})
	}
	pairs := append(labelledPairs(t), metInOrder(t)...)
	judge := func(l compare.Limits) (kinds []compare.Kind) {
		for _, p := range pairs {
			kinds = append(kinds, compare.Judge(p.later, p.earlier, &l).Kind)
		}
		return kinds
	}
	all := judge(compare.DefaultLimits())
	t.Logf("%d pairs", len(pairs))
	for _, rule := range rules {
		limits := compare.DefaultLimits()
		rule.off(&limits)
		moved, better, worse, met := 0, 0, 0, 0
		for i, kind := range judge(limits) {
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
		t.Logf("%-16s moves %4d: better %3d, worse %3d; in order %4d", rule.name, moved, better, worse, met)
		if moved < 2 && met == 0 {
			t.Errorf("%s moves %d pairs: it has to go", rule.name, moved)
		}
	}
}

// metInOrder are the pairs that were judged when the news and the broadcasts came in order.
func metInOrder(t *testing.T) (pairs []labelledPair) {
	t.Helper()
	doc := docs(t)
	for _, file := range []string{"news-dev.jsonl.gz", "broadcast.jsonl.gz"} {
		b := bench(t, documents(t, file), nil)
		for i := range b.events {
			if e := &b.events[i]; e.Of != "" && e.Rule != index.ByExact {
				pairs = append(pairs, labelledPair{doc(b.items[i]), doc(b.items[b.position[e.Of]]), Label{Adds: Trifle}, true})
			}
		}
	}
	return pairs
}

// docs prepares items to be compared.
func docs(t *testing.T) func(it *ingest.Item) *compare.Doc {
	seg := segmenter(t)
	return func(it *ingest.Item) *compare.Doc {
		text := ingest.Prepare(seg, it).Text
		return compare.NewDoc(&text)
	}
}

// labelledPair is a pair with its label.
type labelledPair struct {
	later, earlier *compare.Doc
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
	doc := docs(t)
	// Sentences that others have labelled as not the same.
	for _, set := range []string{"paws-dev.jsonl.gz", "wsdm-dev.jsonl.gz"} {
		for _, p := range lines(t, set, ReadTextPair) {
			if !p.positive() {
				pairs = append(pairs, labelledPair{doc(&ingest.Item{Body: p.Target}), doc(&ingest.Item{Body: p.Source}),
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
		{"short-dev.jsonl.gz", shortLabels(t)},
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
			pairs = append(pairs, labelledPair{doc(b), doc(a), l, false})
		}
	}
	return pairs
}
