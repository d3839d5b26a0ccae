package eval

import (
	"bytes"
	"cmp"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"jianguo/data"
	"jianguo/index"
	"jianguo/index/verdict"
	"jianguo/ingest"
	"jianguo/internal/fixture"
	"jianguo/internal/jsonl"
	"jianguo/internal/testbed"
)

var update = flag.Bool("update", false, "rewrite the golden files in testdata")

// expectation is a row of the sample's expected.jsonl.
type expectation struct {
	ID, Family, Kind, Verdict, Of, Textbook string
}

func sampleFile[T any](t testing.TB, name string, decode func([]byte) (T, error)) []T {
	t.Helper()
	file, err := data.FS.ReadFile(name)
	testbed.OK(t, err)
	var out []T
	if err := jsonl.Read(bytes.NewReader(file), "-", func(_ int, line []byte) error {
		v, err := decode(line)
		out = append(out, v)
		return err
	}); err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	return out
}

func sample(t testing.TB) ([]*ingest.Item, []expectation) {
	t.Helper()
	return sampleFile(t, "sample/corpus.jsonl", ingest.DecodeItem),
		sampleFile(t, "sample/expected.jsonl", func(line []byte) (e expectation, err error) { return e, json.Unmarshal(line, &e) })
}

// bench feeds items under a policy; nil: the default one.
func bench(t testing.TB, items []*ingest.Item, change func(*index.Policy)) *Bench {
	t.Helper()
	p := index.DefaultPolicy()
	p.Rules = verdict.RulesJianguo
	if change != nil {
		change(&p)
	}
	b, err := Feed(t.Context(), Config{Segmenter: fixture.Shipped(), Policy: p}, items)
	testbed.OK(t, err)
	t.Cleanup(func() {
		if err := b.Close(); err != nil {
			t.Error(err)
		}
	})
	return b
}

// TestQualityGolden feeds the bundled sample through the default policy and compares
// every verdict with that of an editor. The golden file is the result, not the goal: its
// diff shows a change of detection.
func TestQualityGolden(t *testing.T) {
	items, rows := sample(t)
	b := bench(t, items, nil)
	got := goldenText(b, rows)
	const name = "testdata/quality.golden"
	if *update {
		testbed.OK(t, os.WriteFile(name, []byte(got), 0o644))
	}
	want, err := os.ReadFile(name)
	testbed.OK(t, err)
	if string(want) != got {
		t.Errorf("detection has changed; where that is meant, run go test ./ingest/eval -update\n%s", changed(string(want), got))
	}
}

// changed lists the removed and the added lines.
func changed(was, is string) string {
	var out strings.Builder
	a, b := strings.Split(was, "\n"), strings.Split(is, "\n")
	for _, line := range a {
		if !slices.Contains(b, line) {
			out.WriteString("- " + line + "\n")
		}
	}
	for _, line := range b {
		if !slices.Contains(a, line) {
			out.WriteString("+ " + line + "\n")
		}
	}
	return out.String()
}

func goldenText(b *Bench, rows []expectation) string {
	var out strings.Builder
	out.WriteString("Verdicts on the bundled sample, by what was made of an item, against an editor's.\n\n")
	type count struct{ items, right, lead int }
	kinds := map[string]*count{}
	var wrong []string
	asked, given := map[string]int{}, map[string]int{}
	for _, r := range rows {
		c := kinds[r.Kind]
		if c == nil {
			c = new(count)
			kinds[r.Kind] = c
		}
		c.items++
		e := b.events[b.position[r.ID]]
		asked[r.Verdict]++
		given[e.Verdict.String()]++
		of, why := e.Of, "-"
		if e.Facts != nil {
			why = e.Facts.Reason
		}
		if e.Verdict == index.Unique {
			of = ""
		}
		if e.Verdict.String() == r.Verdict {
			c.right++
			if of == r.Of {
				c.lead++
				continue
			}
		}
		wrong = append(wrong, fmt.Sprintf("%s (%s): %s of %s by the editor, %s of %s by jianguo (%s)",
			r.ID, r.Kind, r.Verdict, cmp.Or(r.Of, "nothing"), e.Verdict, cmp.Or(of, "nothing"), why))
	}
	var names []string
	for k := range kinds {
		names = append(names, k)
	}
	slices.Sort(names)
	for _, k := range names {
		c := kinds[k]
		fmt.Fprintf(&out, "%-22s %3d items, verdict right %3d, and of the right one %3d\n", k, c.items, c.right, c.lead)
	}
	for _, v := range []string{"unique", "suspect", "duplicate"} {
		fmt.Fprintf(&out, "\n%s: %d by the editor, %d by jianguo", v, asked[v], given[v])
	}
	fmt.Fprintf(&out, "\n\nItems whose verdict, or earlier item, is another than the editor's: %d\n%s\n", len(wrong), strings.Join(wrong, "\n"))
	return out.String()
}

// TestForms: of 80 pairs of texts of one form, written by someone who did not know the rules, hardly any is rejected.
func TestForms(t *testing.T) {
	var items []*ingest.Item
	if err := jsonl.Read(nil, "testdata/forms.jsonl", func(_ int, line []byte) error {
		it, err := ingest.DecodeItem(line)
		items = append(items, it)
		return err
	}); err != nil {
		t.Fatal(err)
	}
	labels, err := ReadLabels(nil, "testdata/forms.tsv")
	testbed.OK(t, err)
	rejected := 0
	for _, j := range judged(t, bench(t, items, nil), labels) {
		if j.Kind == "template" && j.Verdict == index.Duplicate {
			rejected++
		}
	}
	if rejected > 2 {
		t.Errorf("%d of 80 forms are rejected", rejected)
	}
}
