package ingest_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"jianguo/index"
	"jianguo/ingest"
	"jianguo/internal/fixture"
	"jianguo/internal/testbed"
)

// TestBoilerplateIsLearned: a footer that recurs in the unrelated articles of a source loses its weight, also after a
// restart and with judging ahead, until an editor takes it out; that of another source keeps it.
func TestBoilerplateIsLearned(t *testing.T) {
	var unrelated []*ingest.Item
	families := map[string]bool{}
	seg, items := fixture.Shipped(), sampleItems(t)
	for line := range sampleLines(t, "sample/expected.jsonl") {
		var row struct{ ID, Family, Verdict string }
		testbed.OK(t, json.Unmarshal(line, &row))
		if it := items[row.ID]; row.Verdict == "unique" && !families[row.Family] && len(it.Body) > 600 && len(unrelated) < 8 {
			families[row.Family] = true
			unrelated = append(unrelated, it)
		}
	}
	const footer = "\n海岬晚报客户端，每天为您送上身边的新鲜事和暖心事。\n新闻线索一经采用即付稿酬，欢迎街坊邻里踊跃提供。\n城事频道由海岬晚报社会部运营，转载须经书面授权并注明出处。"
	dir := t.TempDir()
	policy := index.DefaultPolicy()
	open := func() *index.Index {
		x, err := index.Open(t.Context(), ingest.IndexConfig(seg, index.Config{Dir: dir, Policy: &policy, Relaxed: true}))
		testbed.OK(t, err)
		return x
	}
	x := open()
	defer func() {
		if r, err := x.Verify(t.Context()); err != nil || len(r.Problems) > 0 {
			t.Error(r, err)
		}
		_ = x.Close()
	}()
	seq := uint64(0)
	add := func(ahead bool, source, body string) index.Event {
		t.Helper()
		seq++
		it := &ingest.Item{ID: fmt.Sprint(seq), Source: source, Body: body}
		m := index.Mutation{Seq: seq, At: time.Date(2026, 1, 2, 3, 4, int(seq), 0, time.UTC), Article: ingest.Prepare(seg, it)}
		if ahead {
			testbed.OK(t, x.CompareAhead(t.Context(), m.Article, m.At))
		}
		out, err := x.Add(t.Context(), []index.Mutation{m})
		testbed.OK(t, err)
		return out[0].Event
	}
	if len(unrelated) < 6 {
		t.Fatalf("%d unrelated articles in the sample", len(unrelated))
	}
	for i, it := range unrelated {
		if e := add(i%2 == 0, "海岬晚报", it.Body+footer); e.Verdict != index.Unique || e.Of != "" {
			t.Fatalf("%s of %s: %s", it.ID, e.Of, e.Why)
		}
	}
	known, err := x.Boilerplate(t.Context(), "海岬晚报")
	testbed.OK(t, err)
	text := ""
	for _, p := range known {
		text += p.Text
	}
	if len(known) < 4 || !strings.Contains(text, "新闻线索一经采用即付稿酬") || strings.Contains(text, strings.TrimSpace(unrelated[0].Body)[:30]) {
		t.Fatalf("learned %+v", known)
	}
	testbed.OK(t, x.Close())
	x = open()
	if again, err := x.Boilerplate(t.Context(), "海岬晚报"); err != nil || fmt.Sprint(again) != fmt.Sprint(known) {
		t.Fatalf("after a restart %v, before %v", again, known)
	}
	notes := []string{"望潮镇的梅子熟了，果农们清晨就上山采摘。", "老船厂的塔吊今天拆除，许多老职工赶来合影。", "青石巷的路灯修好了，夜里出门不再摸黑。", "南屏小学的合唱团昨晚登台，赢得满堂喝彩。"}
	for i, source := range []string{"海岬晚报", "海岬晚报", "别的报纸", "别的报纸"} {
		e := add(i%2 == 0, source, notes[i]+footer)
		if heavy := e.Of != ""; heavy != (i == 3) {
			t.Errorf("a note of %s: %s, %s", source, e.Verdict, e.Why)
		}
	}
	seq++
	out := &index.SourcePassage{Source: "海岬晚报", Passage: index.Passage{Text: footer, State: "out", By: "张三"}}
	if _, refused, err := x.Edit(t.Context(), seq, time.Now(), &index.Edit{Passage: out}); refused != nil || err != nil {
		t.Fatal(refused, err)
	}
	if e := add(true, "海岬晚报", "云崖水库的候鸟到了，观鸟的人围了一圈。"+footer); e.Of == "" {
		t.Errorf("a footer that an editor has taken out: %s", e.Why)
	}
}
