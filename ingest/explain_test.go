package ingest_test

import (
	"bytes"
	"encoding/json"
	"iter"
	"testing"
	"time"

	"jianguo/data"
	"jianguo/index"
	"jianguo/index/verdict"
	"jianguo/ingest"
	"jianguo/internal/fixture"
	"jianguo/segment"
)

// TestExplainAgreesWithIndex holds explanations against what the index does
// with the same two texts.
func TestExplainAgreesWithIndex(t *testing.T) {
	t.Parallel()
	seg, items := fixture.Shipped(), sampleItems(t)
	kinds := map[string]int{}
	compared := 0
	for line := range sampleLines(t, "sample/expected.jsonl") {
		var row struct{ ID, Kind, Of string }
		if err := json.Unmarshal(line, &row); err != nil {
			t.Fatal(err)
		}
		if row.Of == "" || kinds[row.Kind] == 3 {
			continue
		}
		kinds[row.Kind]++
		compared++
		compareWithIndex(t, seg, "", items[row.ID], items[row.Of])
		compareWithIndex(t, seg, verdict.Strictnesses[0], items[row.ID], items[row.Of])
	}
	if compared < 40 {
		t.Fatalf("only %d pairs in the sample", compared)
	}
}

func compareWithIndex(t *testing.T, seg *segment.Segmenter, strictness string, later, earlier *ingest.Item) {
	t.Helper()
	policy := index.DefaultPolicy()
	if policy.Rules = verdict.RulesJianguo; strictness != "" {
		policy = policy.At(strictness)
	}
	x, err := index.Open(t.Context(), ingest.IndexConfig(seg, index.Config{Dir: t.TempDir(), Policy: &policy, Relaxed: true, Language: index.English}))
	if err != nil {
		t.Fatal(err)
	}
	defer x.Close()
	at := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	var last index.Event
	for i, it := range []*ingest.Item{earlier, later} {
		a := ingest.Prepare(seg, it)
		out, err := x.Add(t.Context(), []index.Mutation{{Seq: uint64(i + 1), At: at, Article: a}})
		if err != nil {
			t.Fatal(err)
		}
		last = out[0].Event
	}
	e := ingest.Explain(seg, policy, index.English, later, earlier)
	if e.Verdict != last.Verdict || e.Series != (last.Series != 0) || len(e.Trace) == 0 || e.Rule != index.NoRule && e.Why != last.Why && last.Rule != index.ByExact {
		t.Errorf("%s %s after %s: explained as %s (%s), the index says %s (%s)", strictness, later.ID, earlier.ID, e.Verdict, e.Why, last.Verdict, last.Why)
	}
	if last.Distance != nil && last.Rule != index.ByExact && *last.Distance != e.Distance {
		t.Errorf("%s after %s: distance %d, the index says %d", later.ID, earlier.ID, e.Distance, *last.Distance)
	}
}

// sampleItems are the articles of the sample, by id.
func sampleItems(t *testing.T) map[string]*ingest.Item {
	t.Helper()
	items := map[string]*ingest.Item{}
	for line := range sampleLines(t, "sample/corpus.jsonl") {
		it, err := ingest.DecodeItem(line)
		if err != nil {
			t.Fatal(err)
		}
		items[it.ID] = it
	}
	return items
}

// sampleLines yields the lines of a file of the sample.
func sampleLines(t *testing.T, name string) iter.Seq[[]byte] {
	t.Helper()
	file, err := data.FS.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return bytes.Lines(file)
}

// TestExplainBound: the search finds what is below the bound of S, not at it.
func TestExplainBound(t *testing.T) {
	seg, policy := fixture.Shipped(), index.DefaultPolicy()
	earlier := &ingest.Item{ID: "a", Body: "云崖市图书馆新馆周六上午正式开放，首日接待读者一万两千人，少儿区门口排起了长队。"}
	later := &ingest.Item{ID: "b", Body: "云崖市图书馆新馆上周六上午正式开放，首日接待读者八千人，少儿区排起长队，开放到晚上九点。"}
	policy.MaxS = ingest.Explain(seg, policy, index.English, later, earlier).S
	for _, p := range ingest.Explain(seg, policy, index.English, later, earlier).Proposals {
		if p.Rule == index.ByMargin && (p.Met || policy.MaxS == 0) {
			t.Errorf("%+v", p)
		}
	}
}
