package browse

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"jianguo/index"
	"jianguo/index/verdict"
	"jianguo/internal/sqlite"
	"jianguo/internal/testbed"

	"pgregory.net/rapid"
)

// TestSuspectPages: whatever the size of the pages, they have every row of the
// queue once and in order: watched sources first, then by what they add, the least or the most
// first, a series at the position of its first member.
func TestSuspectPages(t *testing.T) {
	ctx := context.Background()
	x := openTest(t, t.TempDir(), nil)
	defer func() { _ = x.Close() }()
	b, err := Open(ctx, x, Config{Words: noWords})
	testbed.OK(t, err)
	defer func() { _ = b.Close() }()
	var suspects map[uint32]bool // the test chooses them
	b.state = func(ordinal uint32) (v verdict.Verdict, superseded bool) {
		if suspects[ordinal] {
			return verdict.Suspect, false
		}
		return verdict.Unique, false
	}
	const items = 60
	for i := 1; i <= items; i++ {
		a := article(fmt.Sprint("i", i), "", uint64(i)*0x9e3779b97f4a7c15)
		a.Source = fmt.Sprint("source", i%5)
		if _, err := x.Add(ctx, []verdict.Mutation{{Seq: uint64(i), At: testStart.Add(time.Duration(i) * time.Second), Article: a}}); err != nil {
			t.Fatal(err)
		}
	}
	testbed.OK(t, b.Follow(ctx))
	if _, err := x.EditNow(ctx, &index.Edit{Source: &index.SourcePolicy{By: "张三", Source: "source3", Policy: index.SourceWatched}}); err != nil {
		t.Fatal(err)
	}
	type waiting struct {
		ordinal, series uint32
		error           float64
	}
	rapid.Check(t, func(rt *rapid.T) {
		if _, err := b.writer.Exec(`DELETE FROM queue`); err != nil {
			rt.Fatal(err)
		}
		suspects = map[uint32]bool{}
		only := rapid.SampledFrom([]string{"", "source3", "source4"}).Draw(rt, "source")
		series := map[uint32][]waiting{} // those that fit; suspects without a series have numbers of their own
		for o := uint32(1); o <= items; o++ {
			if !rapid.Bool().Draw(rt, "waits") {
				continue
			}
			w := waiting{o, uint32(rapid.IntRange(0, 6).Draw(rt, "series")), float64(rapid.IntRange(0, 4).Draw(rt, "error")) / 4}
			suspects[o] = true
			number := b.sourceNumber(ctx, fmt.Sprint("source", o%5))
			if _, err := b.writer.Exec(`INSERT INTO queue VALUES (?,?,?,?)`, o, w.error, w.series, number); err != nil {
				rt.Fatal(err)
			}
			key := w.series
			if key == 0 {
				key = 1000 + o
			}
			if only != "" && only != fmt.Sprint("source", o%5) {
				continue
			}
			series[key] = append(series[key], w)
		}
		most := rapid.Bool().Draw(rt, "most new first")
		byRank := func(a, b waiting) int {
			if most {
				a, b = b, a
			}
			return cmp.Or(cmp.Compare(b.error, a.error), cmp.Compare(b.ordinal, a.ordinal))
		}
		var heads []waiting
		want := map[uint32]string{}
		for _, members := range series {
			slices.SortFunc(members, byRank)
			heads = append(heads, members[0])
			for _, m := range members {
				want[members[0].ordinal] += fmt.Sprint(" i", m.ordinal)
			}
		}
		watched := func(w waiting) int { return map[bool]int{true: 0, false: 1}[w.ordinal%5 == 3] }
		slices.SortFunc(heads, func(a, b waiting) int { return cmp.Or(watched(a)-watched(b), byRank(a, b)) })
		q := SuspectQuery{Source: only, New: most, Limit: rapid.IntRange(1, 20).Draw(rt, "limit")}
		for n := 0; ; {
			page, err := b.Suspects(ctx, q)
			testbed.OK(rt, err)
			for _, row := range page.Rows {
				if n == len(heads) {
					rt.Fatalf("a row too many: %+v", row)
				}
				got := ""
				for _, item := range row.Items {
					got += " " + item.ID
				}
				h := heads[n]
				if got != want[h.ordinal] || row.Error != h.error || row.Waiting != len(row.Items) || row.Watched != (watched(h) == 0) {
					rt.Fatalf("row %d is%s (%v, watched %v), want%s (%v)", n, got, row.Error, row.Watched, want[h.ordinal], h.error)
				}
				n++
				if place, rows, err := b.Place(ctx, q, &row); err != nil || place != n || rows != len(heads) {
					rt.Fatalf("row %d of %d is said to be %d of %d: %v", n, len(heads), place, rows, err)
				}
			}
			if q.Cursor = page.Next; q.Cursor == "" {
				if n != len(heads) {
					rt.Fatalf("%d rows of %d", n, len(heads))
				}
				return
			}
			if len(page.Rows) != q.Limit {
				rt.Fatalf("a page of %d that is not the last, limit %d", len(page.Rows), q.Limit)
			}
		}
	})
	suspects = nil
	if page, err := b.Suspects(ctx, SuspectQuery{}); err != nil || len(page.Rows) != 0 || page.Next != "" {
		t.Errorf("all decided: %+v, %v", page, err)
	}
	if _, err := b.Suspects(ctx, SuspectQuery{Cursor: "x"}); !errors.Is(err, verdict.ErrQuery) {
		t.Error(err)
	}
	mustVerify(t, x)
}

// TestDecidedSuspects: rows that were decided since the lists were read take no place of a page, nor do they end it.
func TestDecidedSuspects(t *testing.T) {
	x := openTest(t, t.TempDir(), nil)
	defer func() { _ = x.Close() }()
	b := openModel(t, x)
	defer func() { _ = b.Close() }()
	const items = 20
	for i := uint64(1); i <= items; i++ {
		m := verdict.Mutation{Seq: i, At: testStart, Article: article(fmt.Sprint("i", i), "", i*0x9e3779b97f4a7c15)}
		_, err := x.Add(t.Context(), []verdict.Mutation{m})
		testbed.OK(t, err)
		_, err = b.writer.Exec(`INSERT INTO queue VALUES (?,?,0,0)`, i, float64(i)/items)
		testbed.OK(t, err)
	}
	decided := []uint32{items, items - 1, items - 4, 1}
	b.state = func(ordinal uint32) (verdict.Verdict, bool) {
		return map[bool]verdict.Verdict{false: verdict.Suspect, true: verdict.Unique}[slices.Contains(decided, ordinal)], false
	}
	for limit := 1; limit <= items; limit++ {
		seen := 0
		for q := (SuspectQuery{Limit: limit}); ; {
			page, err := b.Suspects(t.Context(), q)
			testbed.OK(t, err)
			seen += len(page.Rows)
			if q.Cursor = page.Next; q.Cursor == "" {
				break
			}
			if len(page.Rows) != limit {
				t.Errorf("a page of %d that is not the last, limit %d", len(page.Rows), limit)
			}
		}
		if seen != items-len(decided) {
			t.Errorf("limit %d: %d suspects of %d", limit, seen, items-len(decided))
		}
	}
}

// TestFirstOfFamily: that a suspect is the first of its family is found by one step along an index, however many of
// the family add as little as it does.
func TestFirstOfFamily(t *testing.T) {
	x := openTest(t, t.TempDir(), nil)
	defer func() { _ = x.Close() }()
	b := openModel(t, x)
	defer func() { _ = b.Close() }()
	for _, most := range []bool{false, true} {
		_, _, order := queueOrder(most)
		query := `SELECT ordinal FROM queue q WHERE ` + headOf(order, conditions{text: `1`})
		columns := func(step *string) []any { return []any{new(int), new(int), new(int), step} }
		plan, err := sqlite.All(t.Context(), b.reader, columns, `EXPLAIN QUERY PLAN `+query)
		// With a bound on error, too, it would read those of the same error one by one.
		if err != nil || len(plan) == 0 || plan[len(plan)-1] != "SEARCH p USING COVERING INDEX queue_by_series (series=?)" {
			t.Errorf("%s: %q %v", query, plan, err)
		}
	}
}
