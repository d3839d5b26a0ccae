package browse

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"jianguo/compare"
	"jianguo/index"
	"jianguo/index/indextest"
	"jianguo/index/verdict"
	"jianguo/internal/testbed"
)

// What the tests of package index have too.
var (
	article      = indextest.Article
	testStart    = indextest.Start
	drawMutation = indextest.Mutation
)

func noWords(string, string) []string { return nil }

func mustVerify(t rapid.TB, x *index.Index) { t.Helper(); indextest.MustVerify(t, x) }

func openTest(t testing.TB, dir string, change func(*index.Config)) *index.Index {
	t.Helper()
	p := verdict.DefaultPolicy()
	p.Rules = verdict.RulesHamming
	cfg := index.Config{Dir: dir, Policy: &p, Language: index.English}
	if change != nil {
		change(&cfg)
	}
	x, err := index.Open(context.Background(), cfg)
	testbed.OK(t, err)
	return x
}

// fill adds articles that have postings of both families.
func fill(t *testing.T, x *index.Index, from, to int) {
	t.Helper()
	for n := from; n < to; n++ {
		a := article(fmt.Sprint("id", n), fmt.Sprint("text", n), uint64(n)<<40|uint64(n)<<8|0xff)
		a.Sketch = compare.NewSketch(&compare.Text{Body: strings.Repeat(fmt.Sprintf("第%d号堤坝今晨完成了第%d次巡查。", n, n*7), 3)})
		if _, err := x.Add(context.Background(), []verdict.Mutation{{Seq: uint64(n), At: testStart, Article: a}}); err != nil {
			t.Fatal(err)
		}
	}
}

// drawDecision draws a decision that may or may not apply.
func drawDecision(rt *rapid.T, seq uint64) index.DecisionRequest {
	return index.DecisionRequest{
		Kind:    rapid.SampledFrom([]string{index.Release, index.Reject, index.Block, index.Merge, index.MakeLead, index.Undo}).Draw(rt, "decision"),
		Item:    fmt.Sprintf("id%d", rapid.IntRange(0, 7).Draw(rt, "item")),
		Cluster: uint32(rapid.IntRange(1, 20).Draw(rt, "cluster")), Into: uint32(rapid.IntRange(1, 20).Draw(rt, "into")),
		Undo: uint64(rapid.IntRange(1, 10).Draw(rt, "undo")), By: "editor", At: testStart.Add(time.Duration(seq) * time.Second),
	}
}

func openModel(t testing.TB, x *index.Index) *Model {
	t.Helper()
	b, err := Open(context.Background(), x, Config{Words: func(title, body string) []string { return strings.Fields(title + " " + body) }})
	testbed.OK(t, err)
	return b
}

// dump returns the contents of all lists.
func dump(t rapid.TB, b *Model) map[string][]string {
	t.Helper()
	out := map[string][]string{}
	for table, columns := range map[string]string{"stories": "cluster, lead, original, size, sources, first_at, last_at, round(heat, 6), round(pull, 6)",
		"story_sources": "*", "hours": "*", "source_days": "*", "pairs": "*", "copies": "*", "queue": "*", "rejected": "*"} {
		rows, err := b.reader.Query(`SELECT ` + columns + ` FROM ` + table + ` ORDER BY 1, 2`)
		testbed.OK(t, err)
		names, err := rows.Columns()
		testbed.OK(t, err)
		for rows.Next() {
			values := make([]any, len(names))
			for i := range values {
				values[i] = new(any)
			}
			testbed.OK(t, rows.Scan(values...))
			var line []string
			for _, v := range values {
				line = append(line, fmt.Sprint(*v.(*any)))
			}
			out[table] = append(out[table], strings.Join(line, " "))
		}
		testbed.OK(t, rows.Err())
	}
	return out
}
