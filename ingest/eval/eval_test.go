package eval

import (
	"bytes"
	"encoding/json"
	"math"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"jianguo/index"
	"jianguo/index/verdict"
	"jianguo/ingest"
	"jianguo/internal/fixture"
	"jianguo/internal/testbed"
	"jianguo/simhash"
)

// scan is the textbook rule without an index: the original is the nearest accepted item within
// the distance, the oldest of several.
func scan(b *Bench, distance int) []int {
	of := make([]int, len(b.items))
	var accepted []int
	articles := make([]*index.Article, len(b.items))
	first := map[[16]byte]int{} // by normal form
	for i, it := range b.items {
		a := ingest.Prepare(b.cfg.Segmenter, it)
		of[i], articles[i] = -1, a
		if !a.Blank {
			if k, ok := first[a.Exact]; ok {
				if of[i] = k; of[k] >= 0 {
					of[i] = of[k]
				}
				continue
			}
			first[a.Exact] = i
		}
		if a.Print.Empty() {
			continue
		}
		best := distance + 1
		for _, k := range accepted {
			if d := simhash.Distance(a.Print.Fingerprint, articles[k].Print.Fingerprint); d < best {
				best, of[i] = d, k
			}
		}
		if of[i] < 0 {
			accepted = append(accepted, i)
		}
	}
	return of
}

// TestScanEqualsIndex compares the scan of all accepted items with the index, which promises to
// find all within a distance of 0 to 3.
func TestScanEqualsIndex(t *testing.T) {
	items, _ := sample(t)
	for _, d := range testbed.Sequential([]int{0, 1, 2, 3}) {
		b := bench(t, items, func(p *index.Policy) { p.Rules, p.Distance = index.RulesHamming, d })
		rejected := 0
		for i, of := range scan(b, d) {
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

// sampleLabels labels the sample's pairs by their kind.
func sampleLabels(t *testing.T) ([]*ingest.Item, []Label) {
	items, rows := sample(t)
	var labels []Label
	siblings := map[string]string{}
	for _, r := range rows {
		switch {
		case r.Verdict == "duplicate":
			labels = append(labels, Label{A: r.Of, B: r.ID, Kind: "same", Adds: Nothing, Conf: "high"})
		case r.Verdict == "suspect":
			labels = append(labels, Label{A: r.Of, B: r.ID, Kind: "extends", Adds: Something, Conf: "high"})
		case r.Kind == "series" && siblings[r.Family] != "":
			labels = append(labels, Label{A: siblings[r.Family], B: r.ID, Kind: "template", Adds: Something, Conf: "high"})
		}
		if r.Kind == "series" {
			siblings[r.Family] = r.ID
		}
	}
	return items, labels
}

// judged judges labels on a bench.
func judged(t *testing.T, b *Bench, labels []Label) []Judged {
	t.Helper()
	out, err := b.Labels(t.Context(), labels)
	testbed.OK(t, err)
	return out
}

// TestLabels judges pairs with an earlier item that was rejected or has other copies, as if
// there were no other items.
func TestLabels(t *testing.T) {
	items, labels := sampleLabels(t)
	b := bench(t, items, nil)
	r := b.Sum("sample", judged(t, b, labels))
	total := 0
	for _, rows := range [][]Row{r.Groups, r.Kinds} {
		for _, row := range rows {
			total += row.Pairs
			if row.Caught()+row.Series+row.Unmet > row.Pairs {
				t.Errorf("%s: %+v does not add up", row.Group, row)
			}
		}
	}
	if total != 2*len(labels) {
		t.Errorf("%d pairs in two tables, %d judged", total, len(labels))
	}
	if nothing := r.Groups[0]; nothing.Group != addsNothing || nothing.Rejected*10 < nothing.Pairs*9 {
		t.Errorf("of the sample's copies are duplicates: %+v", nothing)
	}
	if ours := r.Rules[0]; ours.Rejected[0] != r.Groups[0].Rejected || ours.Recall != share(ours.Rejected[0], r.Groups[0].Pairs) {
		t.Errorf("our rule and the table differ: %+v, %+v", ours, r.Groups[0])
	}
	// Copies of copies: the earlier one of such a pair was rejected in the feed.
	var chain []Label
	last := map[string]string{}
	for _, l := range labels {
		if l.Kind == "same" && last[l.A] != "" {
			chain = append(chain, Label{A: last[l.A], B: l.B, Kind: "same"})
		}
		last[l.A] = l.B
	}
	met := 0
	for _, j := range judged(t, b, chain) {
		if j.Met {
			met++
		}
	}
	if len(chain) == 0 || met*10 < len(chain)*9 {
		t.Errorf("of %d copies of one lead, %d met the copy before them", len(chain), met)
	}
	var out bytes.Buffer
	r.Print(&out, -1)
	if strings.Count(out.String(), "adjusted Rand index") != 2 || json.NewEncoder(&out).Encode(r) != nil {
		t.Error("the report cannot be printed")
	}
}

// TestStrictness: each position of the dial rejects what the stricter one before it rejects.
func TestStrictness(t *testing.T) {
	items, labels := sampleLabels(t)
	rejected := map[string][]bool{}
	for _, s := range verdict.Strictnesses {
		for _, j := range judged(t, bench(t, items, func(p *index.Policy) { *p = p.At(s) }), labels) {
			rejected[s] = append(rejected[s], j.Verdict == index.Duplicate)
		}
	}
	moved := 0
	for i, l := range labels {
		c, r, s := rejected["copies"][i], rejected["rewrites"][i], rejected["stories"][i]
		if c && !r || r && !s {
			t.Errorf("%s is rejected: %v, %v, %v", l.B, c, r, s)
		}
		if c != s {
			moved++
		}
	}
	if moved < 2 {
		t.Errorf("only %d of %d pairs move", moved, len(labels))
	}
}

func TestLabelsOfUnknownItems(t *testing.T) {
	items, _ := sample(t)
	b := bench(t, items[:3], nil)
	_, err := b.Labels(t.Context(), []Label{{A: items[0].ID, B: "nobody", Kind: "same"}})
	if err == nil || !strings.Contains(err.Error(), "nobody") {
		t.Errorf("got %v, want an error that names the item", err)
	}
}

func TestPairs(t *testing.T) {
	items, labels := sampleLabels(t)
	body := map[string]string{}
	for _, it := range items {
		body[it.ID] = it.Body
	}
	var pairs []TextPair
	for _, l := range labels {
		if body[l.A] != "" && body[l.B] != "" && l.Kind != "extends" {
			pairs = append(pairs, TextPair{body[l.A], body[l.B], []byte(map[string]string{"same": "1", "template": "0"}[l.Kind])})
		}
	}
	out, setting, err := Pairs(t.Context(), Config{Segmenter: fixture.Shipped(), Policy: index.DefaultPolicy()}, pairs)
	testbed.OK(t, err)
	r := SumPairs("sample", out)
	if setting.Items == 0 || len(r.Groups) != 2 || r.Groups[0].Group != positive || r.Groups[1].Group != negative {
		t.Fatalf("%d items, groups %+v", setting.Items, r.Groups)
	}
	if ours := r.Rules[0]; ours.Recall < .9 || ours.Precision < .95 || r.Groups[1].Rejected > 0 {
		t.Errorf("%+v", ours)
	}
}

func TestCorpus(t *testing.T) {
	items, _ := sample(t)
	b := bench(t, items, nil)
	r := b.Corpus(2, 1)
	if r.Rejected == 0 || r.Suspect == 0 || len(r.Samples) != 6 {
		t.Errorf("%+v", r)
	}
	if len(r.Unrelated) > 0 {
		t.Errorf("unrelated rejected: %+v", r.Unrelated)
	}
	var out bytes.Buffer
	r.Print(&out)
	if !strings.Contains(out.String(), "unrelated rejected") || !strings.Contains(out.String(), "For reading") {
		t.Error("the report cannot be printed")
	}
}

func TestReadLabels(t *testing.T) {
	got, err := ReadLabels(strings.NewReader(labelHeader+"\na\tb\tsame\t0\thigh\twhy\r\n\nc\td\tupdate\t2\n"), "-")
	want := []Label{{"a", "b", "same", 0, "high", "why"}, {"c", "d", "update", 2, "", ""}}
	if err != nil || len(got) != 2 || got[0] != want[0] || got[1] != want[1] {
		t.Errorf("got %v, %v", got, err)
	}
	for in, line := range map[string]string{
		"a\tb\tsame\t0\n":                      "line 1",
		labelHeader + "\na\tb\tsame\n":         "line 2",
		labelHeader + "\na\tb\tsame\t3\t\t\n":  "line 2",
		labelHeader + "\n\na\t\tsame\t0\t\t\n": "line 3",
	} {
		if _, err := ReadLabels(strings.NewReader(in), "-"); err == nil || !strings.Contains(err.Error(), line) {
			t.Errorf("%q: got %v, want an error that names %s", in, err, line)
		}
	}
}

func TestReadTextPair(t *testing.T) {
	for in, positive := range map[string]bool{
		`{"source": "甲", "target": "乙", "label": 1}`:           true,
		`{"source": "甲", "target": "乙", "label": "1"}`:         true,
		`{"source": "甲", "target": "乙", "label": "agreed"}`:    true,
		`{"source": "甲", "target": "乙", "label": 0}`:           false,
		`{"source": "甲", "target": "乙", "label": "unrelated"}`: false,
	} {
		if p, err := ReadTextPair([]byte(in)); err != nil || p.Source != "甲" || p.Target != "乙" || p.positive() != positive {
			t.Errorf("%s: got %+v, %v", in, p, err)
		}
	}
	for _, in := range []string{`{"source": "甲", "target": "乙"}`, `{"source": "甲", "label": 1}`, `[`} {
		if _, err := ReadTextPair([]byte(in)); err == nil {
			t.Errorf("%s: no error", in)
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
	items, labels := sampleLabels(t)
	byID := map[string]Set{}
	seg := fixture.Shipped()
	for _, it := range items {
		byID[it.ID] = Shingles(content(ingest.Prepare(seg, it)), 5)
	}
	var off float64
	for _, l := range labels {
		a, b := byID[l.A], byID[l.B]
		jaccard, _ := a.With(b)
		sa, sb := a.Sign(), b.Sign()
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
			t.Errorf("%s and %s: estimated %.2f, is %.2f", l.A, l.B, estimate, jaccard)
		}
	}
	if mean := off / float64(len(labels)); math.Abs(mean) > .02 {
		t.Errorf("off by %.3f on average", mean)
	}
}
