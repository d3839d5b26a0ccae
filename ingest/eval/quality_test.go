//go:build quality

package eval

import (
	"hash/fnv"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"jianguo/index"
	"jianguo/ingest"
	"jianguo/internal/fixture"
	"jianguo/internal/jsonl"
	"jianguo/internal/testbed"
)

// These tests hold the figures of the development sets: labels that rules were written after
// reading. The files are not part of this repository.

// corpusFile is a file of the folder that JIANGUO_CORPUS names.
func corpusFile(t *testing.T, name string) string {
	t.Helper()
	dir := os.Getenv("JIANGUO_CORPUS")
	if dir == "" {
		t.Fatal("JIANGUO_CORPUS is not set: it names the folder of the labelled corpora (news-dev.jsonl.gz, " +
			"news-dev-adds.tsv, …), which are not part of this repository")
	}
	return filepath.Join(dir, name)
}

// lines decodes a file of JSON lines.
func lines[T any](t *testing.T, name string, decode func([]byte) (T, error)) (out []T) {
	t.Helper()
	err := jsonl.Read(nil, corpusFile(t, name), func(_ int, line []byte) error {
		v, err := decode(slices.Clone(line))
		out = append(out, v)
		return err
	})
	if err != nil || len(out) == 0 {
		t.Fatalf("%s: %d lines, %v", name, len(out), err)
	}
	return out
}

func documents(t *testing.T, name string) []*ingest.Item {
	t.Helper()
	return lines(t, name, func(line []byte) (*ingest.Item, error) { return ingest.DecodeDocument(jsonl.WithPublishedAt(line)) })
}

func labelsOf(t *testing.T, file string) []Label {
	t.Helper()
	labels, err := ReadLabels(nil, file)
	testbed.OK(t, err)
	return labels
}

// group returns the row of a group.
func (r *Report) group(name string) Row {
	i := slices.IndexFunc(r.Groups, func(g Row) bool { return g.Group == name })
	if i < 0 {
		return Row{}
	}
	return r.Groups[i]
}

// printed logs the tables of a report.
func printed(t *testing.T, r *Report) *Report {
	t.Helper()
	var out strings.Builder
	r.Print(&out, 0)
	t.Log(out.String())
	return r
}

func TestNewsQuality(t *testing.T) {
	items := documents(t, "news-dev.jsonl.gz")
	b := bench(t, items, nil)
	r := printed(t, b.Sum("news-dev-adds", judged(t, b, labelsOf(t, corpusFile(t, "news-dev-adds.tsv")))))
	nothing, something, other := r.group(addsNothing), r.group(addsSomething), r.group(otherMatter)
	check(t,
		bound{"adds nothing → rejected", nothing.Rejected, nothing.Pairs, .94, 1},
		bound{"adds nothing → rejected or suspect", nothing.Caught(), nothing.Pairs, .98, 1},
		bound{"adds something → rejected", something.Rejected, something.Pairs, 0, .1},
		bound{"adds something → rejected or suspect", something.Caught(), something.Pairs, .7, 1},
		bound{"another matter → rejected", other.Rejected, other.Pairs, 0, .005},
		bound{"another matter → rejected or suspect", other.Caught(), other.Pairs, 0, .02})
	checkFeed(t, b, .05)
	claims(t, b, items)
	labels := labelsOf(t, "testdata/labels-news.tsv")
	half := func(h string) []Label {
		return slices.DeleteFunc(slices.Clone(labels), func(l Label) bool { return Half(l.A, l.B) != h })
	}
	read(t, b, "half a of labels-news", half("a"), .02)
	read(t, b, "half b of labels-news", half("b"), .02)
	read(t, b, "labels-held", labelsOf(t, "testdata/labels-held.tsv"), .02)
	read(t, b, "held-even", labelsOf(t, "testdata/held-even.tsv"), .03) // one of 35
	read(t, b, "held-news-3", labelsOf(t, "testdata/held-news-3.tsv"), .02)
}

// read prints the table of labels that were set without looking at what the product says, of which at most such a share
// of other matters is rejected. No rule was written after reading held-even, held-news-3, held-short-3, held-feeds and
// held-broadcast.
func read(t *testing.T, b *Bench, name string, labels []Label, most float64) {
	t.Helper()
	r := printed(t, b.Sum(name, judged(t, b, labels)))
	nothing, something, other := r.group(addsNothing), r.group(addsSomething), r.group(otherMatter)
	check(t, bound{"adds nothing → rejected", nothing.Rejected, nothing.Pairs, .8, 1},
		bound{"adds something → rejected", something.Rejected, something.Pairs, 0, .17},
		bound{"another matter → rejected", other.Rejected, other.Pairs, 0, most})
}

// claims checks what the sentences of all events say against both originals: a quotation is a piece of the article and not of the earlier
// one, a value in conflict is in its own article alone.
func claims(t *testing.T, b *Bench, items []*ingest.Item) {
	t.Helper()
	text := map[string]string{}
	for _, it := range items {
		text[it.ID] = ingest.Original(fixture.Shipped(), it.Title, it.Body).Text
	}
	made, wrong, sentences, length := 0, 0, 0, 0
	claim := func(e *index.Event, said, there, elsewhere string) {
		if made++; !strings.Contains(there, said) || strings.Contains(elsewhere, said) {
			wrong++
			t.Logf("%s of %s: %q is not as the sentence says", e.ID, e.Of, said)
		}
	}
	for i := range b.events {
		e := &b.events[i]
		if e.Facts == nil || e.Facts.New == nil {
			continue
		}
		sentences, length = sentences+1, length+utf8.RuneCountInString(e.Why)
		for _, q := range e.Facts.New.Quotes {
			claim(e, q, text[e.ID], text[e.Of])
		}
		for _, c := range e.Facts.Conflict {
			claim(e, c[0], text[e.ID], text[e.Of])
			claim(e, c[1], text[e.Of], text[e.ID])
		}
	}
	t.Logf("%d claims in %d sentences of %.0f characters on average", made, sentences, float64(length)/float64(max(1, sentences)))
	check(t, bound{"claims that are wrong", wrong, made, 0, 0})
}

// TestFeedQuality: eighteen feeds of one week, with few copies and much boilerplate. First pair
// by pair, so that an article that was rejected for another one than that of the pair counts as
// missed; then by what became of each article when it arrived.
func TestFeedQuality(t *testing.T) {
	items := documents(t, "feed-dev.jsonl.gz")
	slices.SortStableFunc(items, func(a, b *ingest.Item) int { return a.Published.Compare(*b.Published) })
	b := bench(t, items, nil)
	labels := labelsOf(t, "testdata/labels-feeds.tsv")
	r := printed(t, b.Sum("feeds", judged(t, b, labels)))
	kinds, copies := map[[2]string]Label{}, map[string]bool{}
	for _, l := range labels {
		kinds[[2]string{l.A, l.B}] = l
		copies[l.B] = copies[l.B] || l.Adds == Nothing
	}
	var repeats Row // articles that add nothing
	right, made, suspects, same := 0, 0, 0, 0
	for i := range b.events {
		e := &b.events[i]
		if copies[e.ID] {
			repeats.add(&Judged{Verdict: e.Verdict, Event: *e})
		}
		l, labelled := kinds[[2]string{e.Of, e.ID}]
		switch {
		case e.Verdict == index.Duplicate && e.Rule != index.ByExact:
			if made++; labelled && l.Adds == Nothing {
				right++
			} else {
				t.Logf("rejected, but labelled otherwise or not at all: %s as a copy of %s", e.ID, e.Of)
			}
		case e.Verdict == index.Suspect:
			if suspects++; l.Kind == "same" {
				same++
			}
		}
	}
	nothing, something, other := r.group(addsNothing), r.group(addsSomething), r.group(otherMatter)
	check(t,
		bound{"adds nothing → rejected or suspect", nothing.Caught(), nothing.Pairs, .8, 1},
		bound{"adds something → rejected", something.Rejected, something.Pairs, 0, .03},
		bound{"another matter → rejected", other.Rejected, other.Pairs, 0, .01},
		bound{"articles that add nothing → rejected", repeats.Rejected, repeats.Pairs, .7, 1},
		bound{"articles that add nothing → rejected, suspect", repeats.Caught(), repeats.Pairs, .8, 1},
		bound{"rejections that are right", right, made, .85, 1},
		bound{"suspects that are the same", same, suspects, 0, .2})
}

func TestShortQuality(t *testing.T) {
	labels := labelsOf(t, "testdata/held-short-3.tsv")
	labelled := map[string]bool{}
	for _, l := range labels {
		labelled[l.A], labelled[l.B] = true, true
	}
	items := documents(t, "short-dev.jsonl.gz")
	items = slices.DeleteFunc(items, func(it *ingest.Item) bool { return !labelled[it.ID] })
	read(t, bench(t, items, nil), "held-short-3", labels, .01)
}

func TestBroadcastQuality(t *testing.T) {
	b := bench(t, documents(t, "broadcast.jsonl.gz"), nil)
	checkFeed(t, b, .01)
	r := printed(t, b.Sum("held-broadcast", judged(t, b, labelsOf(t, "testdata/held-broadcast.tsv"))))
	other := r.group(otherMatter)
	check(t, bound{"another matter → rejected", other.Rejected, other.Pairs, 0, .01})
}

// checkFeed checks the number of suspects in the feed of a whole corpus, and that no unrelated
// text was rejected.
func checkFeed(t *testing.T, b *Bench, suspects float64) {
	t.Helper()
	r := b.Corpus(0, 1)
	var out strings.Builder
	r.Print(&out)
	t.Log(out.String())
	check(t,
		bound{"suspects, of all items", r.Suspect, r.Items, 0, suspects},
		bound{"unrelated texts rejected", len(r.Unrelated), r.Items, 0, 0})
}

// pairsOfTexts judges a file of pairs, or a share of them: one in `every`, by a hash.
func pairsOfTexts(t *testing.T, name string, every uint32) *Report {
	t.Helper()
	pairs := lines(t, name, ReadTextPair)
	pairs = slices.DeleteFunc(pairs, func(p TextPair) bool {
		h := fnv.New32a()
		_, _ = h.Write([]byte(p.Source + "\t" + p.Target))
		return h.Sum32()>>8%every != 0
	})
	out, _, err := Pairs(t.Context(), Config{Segmenter: fixture.Shipped(), Policy: index.DefaultPolicy()}, pairs)
	testbed.OK(t, err)
	return printed(t, SumPairs(name, out))
}

// TestPairsQuality: pairs that others labelled.
func TestPairsQuality(t *testing.T) {
	// Two short news texts of one event or of two: the Sohu contest of 2021, task B.
	r := pairsOfTexts(t, "sohu-b-train.jsonl.gz", 5)
	pos, neg := r.group(positive), r.group(negative)
	check(t,
		bound{"one event → rejected or suspect", pos.Caught(), pos.Pairs, .25, 1},
		bound{"two events → rejected", neg.Rejected, neg.Pairs, 0, .003})
	// The words of a sentence change places: PAWS-X.
	r = pairsOfTexts(t, "paws-dev.jsonl.gz", 1)
	pos, neg = r.group(positive), r.group(negative)
	check(t,
		bound{"paraphrase → rejected", pos.Rejected, pos.Pairs, .1, 1},
		bound{"no paraphrase → rejected", neg.Rejected, neg.Pairs, 0, .05})
	// Headlines of which the later one may deny the earlier: WSDM 2019.
	r = pairsOfTexts(t, "wsdm-dev.jsonl.gz", 1)
	for _, row := range r.Kinds {
		if row.Group == "label disagreed" {
			check(t, bound{"a denial → rejected", row.Rejected, row.Pairs, 0, .03})
		}
	}
	neg = r.group(negative)
	check(t, bound{"another matter, a denial → rejected", neg.Rejected, neg.Pairs, 0, .012})
}

// TestEditsQuality edits 250 articles of the news.
func TestEditsQuality(t *testing.T) {
	var originals []*ingest.Item
	for i, it := range documents(t, "news-dev.jsonl.gz") {
		if i%100 == 0 && utf8.RuneCountInString(it.Body) >= 120 && len(originals) < 250 {
			originals = append(originals, it)
		}
	}
	rejectEdited(t, originals, .03)
}
