//go:build quality

package eval

import (
	"testing"

	"jianguo/compare"
	"jianguo/data"
	"jianguo/ingest"
	"jianguo/segment"
)

// TestAblation prints, for each number of the judge, what moves on the labelled pairs when it is off: verdicts that
// become right and wrong, of those that a platform cares for. A rule that moves fewer than two pairs has to go.
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
	}
	pairs := labelledPairs(t)
	judge := func(l compare.Limits) (kinds []compare.Kind) {
		for _, p := range pairs {
			kinds = append(kinds, compare.Judge(p.later, p.earlier, &l).Kind)
		}
		return kinds
	}
	all := judge(compare.DefaultLimits())
	t.Logf("%d pairs; off: better and worse of copies rejected, of news and of other matter kept, of all caught or let go", len(pairs))
	for _, rule := range rules {
		limits := compare.DefaultLimits()
		rule.off(&limits)
		moved, better, worse := 0, 0, 0
		for i, kind := range judge(limits) {
			if kind == all[i] {
				continue
			}
			moved++
			was, is := pairs[i].cost(all[i]), pairs[i].cost(kind)
			if is < was {
				better++
			} else if is > was {
				worse++
			}
		}
		t.Logf("%-16s moves %4d: better %3d, worse %3d", rule.name, moved, better, worse)
		if moved < 2 {
			t.Errorf("%s moves %d pairs: it has to go", rule.name, moved)
		}
	}
}

// labelledPair is a pair with its label.
type labelledPair struct {
	later, earlier *compare.Doc
	label          Label
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
	seg, err := segment.New(segment.Config{Data: data.FS})
	if err != nil {
		t.Fatal(err)
	}
	doc := func(it *ingest.Item) *compare.Doc {
		text := ingest.Prepare(seg, it).Text
		return compare.NewDoc(&text)
	}
	// Sentences that others have labelled as not the same.
	for _, set := range []string{"paws-dev.jsonl.gz", "wsdm-dev.jsonl.gz"} {
		for _, p := range lines(t, set, ReadTextPair) {
			if !p.positive() {
				pairs = append(pairs, labelledPair{doc(&ingest.Item{Body: p.Target}), doc(&ingest.Item{Body: p.Source}),
					Label{Kind: "different", Adds: Something}})
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
			pairs = append(pairs, labelledPair{doc(b), doc(a), l})
		}
	}
	return pairs
}
