//go:build quality

package eval

import (
	"bufio"
	"compress/gzip"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"jianguo/index"
	"jianguo/ingest"
	"jianguo/internal/jsonl"
)

// corpus reads a file of the labelled corpora that JIANGUO_CORPUS points to.
func corpus(t *testing.T, name string) []*ingest.Item {
	t.Helper()
	f, err := os.Open(filepath.Join(corpusDir(t), name+".jsonl.gz"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	z, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	var items []*ingest.Item
	lines := bufio.NewScanner(z)
	lines.Buffer(nil, 8<<20)
	for lines.Scan() {
		it, err := ingest.DecodeDocument(jsonl.Item(lines.Bytes()))
		if err != nil {
			t.Fatal(err)
		}
		items = append(items, it)
	}
	if lines.Err() != nil || len(items) == 0 {
		t.Fatalf("%s: %d items, %v", name, len(items), lines.Err())
	}
	return items
}

func corpusDir(t *testing.T) string {
	t.Helper()
	dir := os.Getenv("JIANGUO_CORPUS")
	if dir == "" {
		t.Fatal("JIANGUO_CORPUS is not set: it names the folder of the labelled corpora (news-dev.jsonl.gz, news-dev-labels.tsv, …), which are not part of this repository")
	}
	return dir
}

func labels(t *testing.T, file string) []Pair {
	t.Helper()
	f, err := os.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	pairs, err := ReadPairs(f)
	if err != nil {
		t.Fatal(err)
	}
	return pairs
}

// bound limits a share. It is a little wider than the present value, so that only a loss
// of quality fails the test.
type bound struct {
	name        string
	value       float64
	least, most float64
}

func check(t *testing.T, bounds []bound) {
	t.Helper()
	for _, b := range bounds {
		t.Logf("%-44s %6.2f %%  (%.1f to %.1f)", b.name, 100*b.value, 100*b.least, 100*b.most)
		if b.value < b.least || b.value > b.most {
			t.Errorf("%s is %.2f %%, want %.1f to %.1f", b.name, 100*b.value, 100*b.least, 100*b.most)
		}
	}
}

func measure(t *testing.T, name string) (*Bench, Rates) {
	t.Helper()
	b := bench(t, corpus(t, name), nil)
	judged, err := b.Pairs(t.Context(), labels(t, filepath.Join(corpusDir(t), name+"-labels.tsv")))
	if err != nil {
		t.Fatal(err)
	}
	return b, rates(name, judged, ours)
}

func TestNewsQuality(t *testing.T) {
	b, r := measure(t, "news-dev")
	check(t, []bound{
		{"same → duplicate", r.SameDuplicate, .82, 1},
		{"same → duplicate or suspect", r.SameCaught, .97, 1},
		{"template, different → duplicate", r.OthersDuplicate, 0, .015},
		{"partial, update → duplicate", r.RelativeDuplicate, 0, .27}, // 13 of these 57 add nothing
		{"partial, update → suspect or duplicate", r.RelativeCaught, .8, 1},
	})
	judged, groups := byNovelty(t, b, filepath.Join(corpusDir(t), "news-dev-novelty.tsv"))
	nothing, something, other := groups[addsNothing], groups[addsSomething], groups[otherText]
	check(t, []bound{
		{"same → duplicate", rates("", judged, ours).SameDuplicate, .93, 1},
		{"adds nothing → duplicate", share(nothing.Duplicate, nothing.Pairs), .935, 1},
		{"adds nothing → duplicate or suspect", share(nothing.Duplicate+nothing.Suspect, nothing.Pairs), .99, 1},
		{"adds something → duplicate", share(something.Duplicate, something.Pairs), 0, .08},
		{"adds something → duplicate or suspect", share(something.Duplicate+something.Suspect, something.Pairs), .86, 1},
		{"template, different → duplicate", share(other.Duplicate, other.Pairs), 0, .005},
	})
	checkFeed(t, b, .05)
}

func byNovelty(t *testing.T, b *Bench, labelled string) ([]Judged, map[string]Tally) {
	t.Helper()
	judged, err := b.Pairs(t.Context(), labels(t, labelled))
	if err != nil {
		t.Fatal(err)
	}
	groups := map[string]Tally{}
	for _, g := range novelty(judged) {
		groups[g.Group] = g
	}
	return judged, groups
}

// TestFeedQuality: eighteen feeds of one week, with few copies and much boilerplate. First pair by pair, so that an article that
// was rejected for another one than that of the pair counts as missed; then by what became of each article when it arrived.
func TestFeedQuality(t *testing.T) {
	const labelled = "../../sketch/testdata/labels-feeds.tsv"
	items := corpus(t, "feed-dev")
	slices.SortStableFunc(items, func(a, b *ingest.Item) int { return a.Published.Compare(*b.Published) })
	b := bench(t, items, nil)
	var repeats Tally // articles that add nothing
	nothingNew, counted := map[[2]string]bool{}, map[string]bool{}
	for _, p := range labels(t, labelled) {
		same := p.Label == Same || p.Label == Contained
		nothingNew[[2]string{p.A, p.B}] = same
		if same && !counted[p.B] {
			counted[p.B] = true
			e, _ := b.Event(p.B)
			repeats.add(e.Verdict, false, true)
		}
	}
	wrong, made := 0, 0
	for _, e := range b.events {
		if e.Verdict == index.Duplicate && e.Rule != index.ByExact {
			made++
			if !nothingNew[[2]string{e.Of, e.ID}] {
				wrong++
				t.Logf("rejected, but labelled otherwise or not at all: %s as a copy of %s", e.ID, e.Of)
			}
		}
	}
	_, groups := byNovelty(t, b, labelled)
	nothing, something, other := groups[addsNothing], groups[addsSomething], groups[otherText]
	check(t, []bound{
		{"adds nothing → duplicate or suspect", share(nothing.Duplicate+nothing.Suspect, nothing.Pairs), .8, 1},
		{"adds something → duplicate", share(something.Duplicate, something.Pairs), 0, .01},
		{"template, different → duplicate", share(other.Duplicate, other.Pairs), 0, .01},
		{"articles that add nothing: rejected", share(repeats.Duplicate, repeats.Pairs), .7, 1},
		{"articles that add nothing: rejected or suspect", share(repeats.Duplicate+repeats.Suspect, repeats.Pairs), .8, 1},
		{"rejections that add something", share(wrong, made), 0, .03},
	})
}

func TestShortQuality(t *testing.T) {
	_, r := measure(t, "short-dev")
	check(t, []bound{
		{"same → duplicate", r.SameDuplicate, .9, 1},
		{"template, different → duplicate", r.OthersDuplicate, 0, .01},
	})
}

func TestBroadcastQuality(t *testing.T) {
	checkFeed(t, bench(t, corpus(t, "broadcast"), nil), .01)
}

// checkFeed checks the numbers of suspects and rejections in the feed of a whole corpus.
func checkFeed(t *testing.T, b *Bench, suspects float64) {
	t.Helper()
	rules, err := Rules([]string{"jianguo"}, nil)
	if err != nil {
		t.Fatal(err)
	}
	reports, err := b.Corpus(rules, 0, 1)
	if err != nil {
		t.Fatal(err)
	}
	r := reports[0]
	check(t, []bound{
		{"suspects, of all items", share(r.Suspect, r.Items), 0, suspects},
		{"suspects with resemblance below .2", share(r.UnlikeSuspects, r.Items), 0, .002},
	})
	for _, l := range r.Unrelated {
		t.Errorf("unrelated text rejected: %s as a copy of %s (%s)", l.ID, l.Of, l.Verdict)
	}
}

// TestFormEditsQuality edits the form of real articles, and puts foreign text into them.
func TestFormEditsQuality(t *testing.T) {
	b := bench(t, corpus(t, "news-dev")[:4000], nil)
	table, err := os.ReadFile("../../data/tables/variants.txt")
	if err != nil {
		t.Fatal(err)
	}
	results, err := b.Edits(t.Context(), ReadVariants(string(table)), 40, 2)
	if err != nil {
		t.Fatal(err)
	}
	var foreign Tally
	for _, r := range results {
		if r.Form && r.Duplicate != r.Pairs {
			t.Errorf("%s %g, %s: %d of %d are duplicates", r.Edit, r.Strength, r.Length, r.Duplicate, r.Pairs)
		}
		if r.Edit == "foreign paragraphs" && r.Strength == .25 {
			foreign.Pairs, foreign.Duplicate, foreign.Suspect = foreign.Pairs+r.Pairs, foreign.Duplicate+r.Duplicate, foreign.Suspect+r.Suspect
		}
	}
	check(t, []bound{
		{"a fifth of foreign text → duplicate", share(foreign.Duplicate, foreign.Pairs), 0, .1},
		{"a fifth of foreign text → duplicate, suspect", share(foreign.Duplicate+foreign.Suspect, foreign.Pairs), .97, 1},
	})
}

// TestReasonsQuality checks the sentences of real news, and prints a few of them.
func TestReasonsQuality(t *testing.T) {
	items := corpus(t, "news-dev")[:12000]
	sentences, faulty := reasons(t, bench(t, items, nil), items)
	check(t, []bound{{"sentences with faults", share(faulty, len(sentences)), 0, .02}})
	rng := rand.New(rand.NewPCG(1, 1))
	for range 30 {
		t.Log(sentences[rng.IntN(len(sentences))])
	}
}
