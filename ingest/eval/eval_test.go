package eval

import (
	"bytes"
	"encoding/json"
	"math"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"jianguo/data"
	"jianguo/index"
	"jianguo/ingest"
	"jianguo/internal/tier"
	"jianguo/segment"
)

// TestScanEqualsIndex compares the scan of all accepted items, which finds any distance,
// with the index, which finds 0 to 3.
func TestScanEqualsIndex(t *testing.T) {
	items, _ := sample(t)
	for _, d := range tier.Sequential([]int{0, 1, 2, 3}) {
		b := bench(t, items, func(p *index.Policy) { p.Rules, p.Distance = index.RulesHamming, d })
		rejected := 0
		for i, of := range b.scan(d) {
			want := ""
			if of >= 0 {
				want = b.items[of].ID
				rejected++
			}
			if e := b.events[i]; e.Of != want {
				t.Errorf("distance %d: %s is a copy of %q in the index, of %q by scan", d, e.ID, e.Of, want)
			}
		}
		if rejected == 0 {
			t.Errorf("distance %d: nothing rejected", d)
		}
	}
}

// samplePairs labels the sample's pairs by their kind.
func samplePairs(t *testing.T) ([]*ingest.Item, []Pair) {
	items, rows := sample(t)
	var pairs []Pair
	siblings := map[string]string{}
	for _, r := range rows {
		switch {
		case r.Verdict == "duplicate":
			pairs = append(pairs, Pair{A: r.ID, B: r.Of, Label: Same, Confidence: "high"})
		case r.Verdict == "suspect":
			pairs = append(pairs, Pair{A: r.Of, B: r.ID, Label: Partial, Confidence: "high"})
		case r.Kind == "series" && siblings[r.Family] != "":
			pairs = append(pairs, Pair{A: siblings[r.Family], B: r.ID, Label: Template, Confidence: "high"})
		}
		if r.Kind == "series" {
			siblings[r.Family] = r.ID
		}
	}
	return items, pairs
}

// TestPairs judges pairs with an earlier item that was rejected or has other copies, as
// if there were no other items. The verdicts of the feed do not change.
func TestPairs(t *testing.T) {
	items, pairs := samplePairs(t)
	b := bench(t, items, nil)
	judged, err := b.Pairs(t.Context(), pairs)
	if err != nil {
		t.Fatal(err)
	}
	rules, err := Rules([]string{"jianguo", "hamming", "minhash"}, []int{0, 3, 10, 64})
	if err != nil {
		t.Fatal(err)
	}
	r := b.Labels(judged, rules, 4, 1)
	total := 0
	for _, row := range r.Labels {
		total += row.Pairs
		if row.Duplicate+row.Suspect+row.Unique != row.Pairs {
			t.Errorf("%s: %+v does not add up", row.Group, row)
		}
	}
	if total != len(pairs) {
		t.Errorf("%d pairs in the table, %d judged", total, len(pairs))
	}
	byName := map[string]Rates{}
	for _, x := range r.Rules {
		byName[x.Name] = x
	}
	if got := byName["jianguo"].SameDuplicate; got < .9 {
		t.Errorf("%.2f of the sample's copies are duplicates", got)
	}
	if got := byName["hamming ≤ 64"]; got.SameDuplicate != 1 || got.OthersDuplicate != 1 {
		t.Errorf("distance 64 rejects everything, but: %+v", got)
	}
	if a, b := byName["hamming ≤ 0"].SameDuplicate, byName["hamming ≤ 10"].SameDuplicate; a > b {
		t.Errorf("distance 0 catches %.2f, distance 10 only %.2f", a, b)
	}
	folded := 0
	for _, f := range r.Folds {
		folded += f.Same + f.Others + f.Relative
	}
	if len(r.Folds) != 4 || folded != len(pairs) {
		t.Errorf("%d folds with %d pairs of %d", len(r.Folds), folded, len(pairs))
	}
	// Copies of copies: the earlier one of such a pair was rejected in the feed.
	var chain []Pair
	last := map[string]string{}
	for _, p := range pairs {
		if p.Label == Same && last[p.B] != "" {
			chain = append(chain, Pair{A: last[p.B], B: p.A, Label: Same})
		}
		last[p.B] = p.A
	}
	again, err := b.Pairs(t.Context(), chain)
	if err != nil {
		t.Fatal(err)
	}
	met := 0
	for i := range again {
		if len(again[i].Met) > 0 {
			met++
		}
	}
	if len(chain) == 0 || met*10 < len(chain)*9 {
		t.Errorf("of %d copies of one lead, %d met the copy before them", len(chain), met)
	}
	var out bytes.Buffer
	r.Print(&out, -1)
	if !strings.Contains(out.String(), "not met") || json.NewEncoder(&out).Encode(r) != nil {
		t.Error("the report cannot be printed")
	}
	unrelated, policy := b.Unrelated(20, 1), b.Setting().Policy
	var picture bytes.Buffer
	if err := r.Plot(&picture, &policy, unrelated); err != nil {
		t.Error(err)
	}
	for _, want := range []string{"<svg", "Hamming distance, bits", "template, different"} {
		if !strings.Contains(picture.String(), want) {
			t.Errorf("the plot lacks %q", want)
		}
	}
}

func TestPairsOfUnknownItems(t *testing.T) {
	items, _ := sample(t)
	b := bench(t, items[:3], nil)
	if _, err := b.Pairs(t.Context(), []Pair{{A: items[0].ID, B: "nobody", Label: Same}}); err == nil || !strings.Contains(err.Error(), "nobody") {
		t.Errorf("got %v, want an error that names the item", err)
	}
}

// TestFormEdits: edits of the form alone do not change the normal form of any article.
func TestFormEdits(t *testing.T) {
	items, _ := sample(t)
	b := bench(t, items, nil)
	table, err := data.FS.ReadFile("tables/variants.txt")
	if err != nil {
		t.Fatal(err)
	}
	each := tier.Count(7, 15, 15)
	if tier.Race { // nothing is new to the detector
		each = 3
	}
	results, err := b.Edits(t.Context(), ReadVariants(string(table)), each, 1)
	if err != nil {
		t.Fatal(err)
	}
	form := 0
	for _, r := range results {
		if !r.Form {
			continue
		}
		form++
		// Dots between characters can stand where a list or an abbreviation
		// has them: a few may differ.
		if r.Duplicate != r.Pairs && r.Edit != "dots" {
			t.Errorf("%s %g, %s: %d of %d are duplicates", r.Edit, r.Strength, r.Length, r.Duplicate, r.Pairs)
		}
	}
	if form < 20 {
		t.Errorf("only %d results of form edits", form)
	}
	again, err := b.Edits(t.Context(), ReadVariants(string(table)), each, 1)
	if err != nil {
		t.Fatal(err)
	}
	a, _ := json.Marshal(results)
	if c, _ := json.Marshal(again); !bytes.Equal(a, c) {
		t.Error("the same seed gives other numbers")
	}
}

func TestCorpus(t *testing.T) {
	items, _ := sample(t)
	b := bench(t, items, nil)
	rules, err := Rules([]string{"jianguo", "hamming", "minhash"}, []int{3, 16})
	if err != nil {
		t.Fatal(err)
	}
	reports, err := b.Corpus(rules, 2, 1)
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range reports {
		n := 0
		for _, band := range r.Resemblances {
			n += band
		}
		if n != r.Duplicate || r.Duplicate == 0 || r.Duplicate+r.Suspect+r.Unique != r.Items {
			t.Errorf("%s: does not add up: %+v", r.Rule, r)
		}
		if r.Rule == "jianguo" && len(r.Unrelated) > 0 {
			t.Errorf("unrelated rejected: %+v", r.Unrelated)
		}
	}
	var out bytes.Buffer
	PrintCorpus(&out, reports)
	if !strings.Contains(out.String(), "unrelated rejected") {
		t.Error("the report cannot be printed")
	}
}

func TestSweep(t *testing.T) {
	items, pairs := samplePairs(t)
	b := bench(t, items, nil)
	judged, err := b.Pairs(t.Context(), pairs[:40])
	if err != nil {
		t.Fatal(err)
	}
	rows, err := b.Sweep(t.Context(), judged, 50, 1)
	if err != nil {
		t.Fatal(err)
	}
	// A lower threshold for duplicates rejects more.
	last, seen := math.Inf(1), 0
	for _, r := range rows {
		if r.Knob == "thresholds.duplicate" {
			seen++
			if r.SameDuplicate > last {
				t.Errorf("a higher threshold catches more: %+v", r)
			}
			last = r.SameDuplicate
		}
	}
	if seen < 3 {
		t.Errorf("the threshold was moved %d times", seen)
	}
	after, err := b.Pairs(t.Context(), pairs[:40])
	if err != nil {
		t.Fatal(err)
	}
	for i := range after {
		if after[i].Verdict != judged[i].Verdict {
			t.Errorf("%s: %s after the sweep, %s before", after[i].Later, after[i].Verdict, judged[i].Verdict)
		}
	}
}

func TestTurn(t *testing.T) {
	p := index.DefaultPolicy()
	for name, value := range numbers(p) {
		if same, err := Turn(p, name, value); err != nil || same.Hash() != p.Hash() {
			t.Errorf("%s to its own value: %v", name, err)
		}
	}
	if q, err := Turn(p, "max_s", 5.5); err != nil || q.MaxS != 5.5 || p.MaxS == 5.5 {
		t.Errorf("max_s: %v, %v", q.MaxS, err)
	}
	for _, name := range []string{"nothing", "thresholds", "thresholds.nothing", "rules"} {
		if _, err := Turn(p, name, 1); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
	if _, err := Turn(p, "distance", 4); err == nil {
		t.Error("distance 4: no error")
	}
}

func TestReadPairs(t *testing.T) {
	got, err := ReadPairs(strings.NewReader("id_a\tid_b\tlabel\tconfidence\treason\na\tb\tsame\thigh\twhy\r\n\nc\td\tother\n"))
	want := []Pair{{"a", "b", "same", "high", "why"}, {"c", "d", "other", "", ""}}
	if err != nil || len(got) != 2 || got[0] != want[0] || got[1] != want[1] {
		t.Errorf("got %v, %v", got, err)
	}
	if _, err := ReadPairs(strings.NewReader("a\tb\tsame\nonly one\n")); err == nil || !strings.Contains(err.Error(), "line 2") {
		t.Errorf("got %v, want an error that names line 2", err)
	}
}

func TestReadPairsJSON(t *testing.T) {
	got, err := ReadPairsJSON(strings.NewReader(`{"a":"x","b":"y","label":"near_dup","jaccard8":0.9}` + "\n"))
	if err != nil || len(got) != 1 || got[0] != (Pair{A: "x", B: "y", Label: "near_dup"}) {
		t.Errorf("got %v, %v", got, err)
	}
	for _, in := range []string{`{"a":"x","b":"y"}`, `{"a":1}`, `[`} {
		if _, err := ReadPairsJSON(strings.NewReader(in)); err == nil || !strings.Contains(err.Error(), "pair 1") {
			t.Errorf("%s: got %v, want an error that names pair 1", in, err)
		}
	}
}

func TestDistances(t *testing.T) {
	for in, want := range map[string]int{"3": 1, "0..10": 11, "3,6, 3": 2, "0..2,1..4": 5} {
		if got, err := Distances(in); err != nil || len(got) != want {
			t.Errorf("%q: %v, %v", in, got, err)
		}
	}
	for _, in := range []string{"", "x", "-1", "5..3", "65", "1..x"} {
		if _, err := Distances(in); err == nil {
			t.Errorf("%q: no error", in)
		}
	}
}

// TestShingles compares the hashed sets with sets of strings.
func TestShingles(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		draw := rapid.StringMatching(`[甲乙丙a1]{0,12}`)
		a, b := draw.Draw(t, "a"), draw.Draw(t, "b")
		k := rapid.IntRange(1, 6).Draw(t, "k")
		plain := func(s string) map[string]bool {
			set, r := map[string]bool{}, []rune(s)
			if len(r) > 0 && len(r) < k {
				set[s] = true
			}
			for i := 0; i+k <= len(r); i++ {
				set[string(r[i:i+k])] = true
			}
			return set
		}
		sa, sb := plain(a), plain(b)
		both := 0
		for s := range sa {
			if sb[s] {
				both++
			}
		}
		jaccard, containment := Shingles(a, k).With(Shingles(b, k))
		if want := share(both, len(sa)+len(sb)-both); math.Abs(jaccard-want) > 1e-12 {
			t.Fatalf("jaccard %v, want %v", jaccard, want)
		}
		if want := share(both, min(len(sa), len(sb))); math.Abs(containment-want) > 1e-12 {
			t.Fatalf("containment %v, want %v", containment, want)
		}
	})
}

// TestMinHash compares the share of equal minima with the Jaccard resemblance that it
// estimates.
func TestMinHash(t *testing.T) {
	items, pairs := samplePairs(t)
	byID := map[string]string{}
	seg := segmenter(t)
	for _, it := range items {
		byID[it.ID] = content(ingest.Prepare(seg, new(segment.Text), it))
	}
	m := minHashes[0]
	if m.Bands*m.Rows > permutations || m.Bands*m.Rows < permutations*3/4 {
		t.Errorf("%d bands of %d rows", m.Bands, m.Rows)
	}
	var off float64
	for _, p := range pairs {
		a, b := byID[p.A], byID[p.B]
		jaccard, _ := Shingles(a, 5).With(Shingles(b, 5))
		sa, sb := Sign(a), Sign(b)
		same := 0
		for i := range sa {
			if sa[i] == sb[i] {
				same++
			}
		}
		estimate := share(same, permutations)
		off += estimate - jaccard
		// Five standard deviations of a binomial at one half.
		if math.Abs(estimate-jaccard) > 5*math.Sqrt(.25/permutations) {
			t.Errorf("%s and %s: estimated %.2f, is %.2f", p.A, p.B, estimate, jaccard)
		}
	}
	if mean := off / float64(len(pairs)); math.Abs(mean) > .02 {
		t.Errorf("off by %.3f on average", mean)
	}
}
