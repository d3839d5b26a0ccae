package browse

import (
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"jianguo/index"
	"jianguo/index/verdict"
	"jianguo/internal/sqlite"
	"jianguo/internal/testbed"
)

// TestCopiesPages: pages of a source's copies go on behind one that the catalogue has lost.
func TestCopiesPages(t *testing.T) {
	ctx, dir := t.Context(), t.TempDir()
	x := openTest(t, dir, nil)
	defer func() { _ = x.Close() }()
	for n := range 6 {
		a := article(fmt.Sprint("i", n), fmt.Sprint("text", n), 0x0123456789abcdef)
		a.Source = fmt.Sprint("source", min(n, 1))
		if _, err := x.Add(ctx, []verdict.Mutation{{Seq: uint64(n + 1), At: testStart, Article: a}}); err != nil {
			t.Fatal(err)
		}
	}
	b := openModel(t, x)
	defer func() { _ = b.Close() }()
	testbed.OK(t, b.followLists(ctx))
	db, err := sqlite.Open(filepath.Join(dir, index.FileName), sqlite.Writes, "NORMAL")
	testbed.OK(t, err)
	_, err = db.ExecContext(ctx, `DELETE FROM items WHERE ordinal = 4`)
	if err = errors.Join(err, db.Close()); err != nil {
		t.Fatal(err)
	}
	for limit := 1; limit < 7; limit++ {
		var got []string
		for after, pages := uint32(0), 0; pages < 7; pages++ {
			page, err := b.Copies(ctx, "source1", false, after, limit)
			testbed.OK(t, err)
			for _, c := range page.Copies {
				got = append(got, c.Copier.ID)
			}
			if after = page.Next; after == 0 {
				break
			}
		}
		if fmt.Sprint(got) != "[i5 i4 i2 i1]" {
			t.Errorf("pages of %d: %v", limit, got)
		}
	}
}

// TestLastCopies: a page of a source with many copies reads a page of them along their indexes, and does not sort all.
func TestLastCopies(t *testing.T) {
	x := openTest(t, t.TempDir(), nil)
	defer func() { _ = x.Close() }()
	b := openModel(t, x)
	defer func() { _ = b.Close() }()
	for _, query := range []string{lastCopies(``, `copier = ?1`, `origin = ?1 AND copier <> ?1`),
		lastCopies(`JOIN rejected USING (ordinal)`, `copier = ?1 AND NOT early`, `origin = ?1 AND early`),
		`SELECT * FROM ` + pairsOf} {
		columns := func(step *string) []any { return []any{new(int), new(int), new(int), step} }
		plan, err := sqlite.All(t.Context(), b.reader, columns, `EXPLAIN QUERY PLAN `+query, 1, 2, 3)
		if err != nil || len(plan) == 0 || slices.ContainsFunc(plan, func(s string) bool {
			return strings.Contains(s, "SCAN") && s != "SCAN origins" || strings.Contains(s, "TEMP")
		}) {
			t.Errorf("%s: %q %v", query, plan, err)
		}
	}
}

// TestCopiedMost: the pairs of a source are those of all pairs that it is in, since a day.
func TestCopiedMost(t *testing.T) {
	ctx := t.Context()
	x := openTest(t, t.TempDir(), nil)
	defer func() { _ = x.Close() }()
	for n := range 5 {
		a := article(fmt.Sprint("i", n), fmt.Sprint("text", n), uint64(n)<<40|0xff)
		a.Source = fmt.Sprint("s", n+1)
		if _, err := x.Add(ctx, []verdict.Mutation{{Seq: uint64(n + 1), At: testStart, Article: a}}); err != nil {
			t.Fatal(err)
		}
	}
	b := openModel(t, x)
	defer func() { _ = b.Close() }()
	day := dayOf(testStart.UnixMilli())
	for origin := 1; origin < 5; origin++ { // s5 copies, and is not copied
		for copier := 1; copier < 6; copier++ {
			for age := range 3 {
				if _, err := b.writer.ExecContext(ctx, `INSERT INTO pairs VALUES (?,?,?,?)`, origin, copier, day-int64(age),
					origin*copier+age); err != nil {
					t.Fatal(err)
				}
			}
		}
	}
	since := testStart.Add(-24 * time.Hour)
	all, err := b.CopiedMost(ctx, since, "", 100)
	if err != nil || len(all) != 16 || all[0] != (Copied{"s4", "s5", 41}) {
		t.Fatalf("%+v %v", all, err)
	}
	for n := range 7 {
		name := fmt.Sprint("s", n)
		var want []Copied
		for _, c := range all {
			if name == c.Origin || name == c.Copier {
				want = append(want, c)
			}
		}
		if got, err := b.CopiedMost(ctx, since, name, 100); err != nil || !slices.Equal(got, want) {
			t.Errorf("%s: %+v, want %+v %v", name, got, want, err)
		}
	}
}
