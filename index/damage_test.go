package index

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"jianguo/compare"
	"jianguo/internal/sqlite"
	"jianguo/internal/testbed"
)

// fill adds articles that have postings of both families.
func fill(t *testing.T, x *Index, from, to int) {
	t.Helper()
	for n := from; n < to; n++ {
		a := article(fmt.Sprint("id", n), fmt.Sprint("text", n), uint64(n)<<40|uint64(n)<<8|0xff)
		a.Sketch = compare.NewSketch(&compare.Text{Body: strings.Repeat(fmt.Sprintf("第%d号堤坝今晨完成了第%d次巡查。", n, n*7), 3)})
		if _, err := x.Add(context.Background(), []Mutation{{Seq: uint64(n), At: testStart, Article: a}}); err != nil {
			t.Fatal(err)
		}
	}
}

// TestDamagedPages damages one page of each kind of a snapshot, in each way. The index
// then does not use the snapshot, and its resident data is complete all the same.
func TestDamagedPages(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	dir := t.TempDir()
	path := filepath.Join(dir, SnapshotFileName)
	x := openTest(t, dir, nil)
	fill(t, x, 1, 80)
	if err := errors.Join(x.Snapshot(ctx), x.Close()); err != nil {
		t.Fatal(err)
	}
	whole, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	x = openTest(t, dir, nil)
	if x.snapshotEvent.Load() == 0 {
		t.Fatal("there is no snapshot to damage")
	}
	kinds := []string{"columns", "fingerprints", "keys", "ids", "exacts"} // by the upper half of the page's id
	ways := map[string]func(page []byte) []byte{
		"cut":   func(p []byte) []byte { return p[:rand.IntN(len(p))] },
		"a bit": func(p []byte) []byte { p[rand.IntN(len(p))] ^= 1 << rand.IntN(8); return p },
		"long":  func(p []byte) []byte { return append(p, 0) },
		"gone":  func([]byte) []byte { return nil },
	}
	if testbed.Race { // nothing runs at the same time
		maps.DeleteFunc(ways, func(way string, _ func([]byte) []byte) bool { return way != "a bit" })
	}
	for kind, name := range kinds {
		for way, damage := range ways {
			if err := os.WriteFile(path, whole, 0o600); err != nil {
				t.Fatal(err)
			}
			db, err := sqlite.Open(filepath.Join(dir, SnapshotFileName), sqlite.Writes, "NORMAL")
			if err != nil {
				t.Fatal(err)
			}
			damageRow(t, db, fmt.Sprint("id >> 32 = ", kind), damage)
			if err := db.Close(); err != nil {
				t.Fatal(err)
			}
			if err := x.Close(); err != nil {
				t.Fatal(err)
			}
			x = openTest(t, dir, nil)
			if got := x.snapshotEvent.Load(); got != 0 {
				t.Errorf("%s, %s: the snapshot was used", name, way)
			}
			mustVerify(t, x)
		}
	}
	if err := x.Close(); err != nil {
		t.Fatal(err)
	}
}

// TestSnapshotHeader: with any header of a snapshot, the index is complete and can
// write the next snapshot. One byte makes a file read-only without damage to its
// contents.
func TestSnapshotHeader(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	dir := t.TempDir()
	path := filepath.Join(dir, SnapshotFileName)
	x := openTest(t, dir, func(c *Config) { c.Relaxed = true })
	fill(t, x, 1, 10)
	if err := errors.Join(x.Snapshot(ctx), x.Close()); err != nil {
		t.Fatal(err)
	}
	whole, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	// The bounds of the fields in the header of the file and of its first page.
	fields := []int{0, 15, 16, 17, 18, 19, 20, 21, 22, 23, 24, 27, 28, 31, 35, 39, 40, 43, 47, 51, 55, 56, 59, 63, 67, 71, 95, 99, 100, 102, 104, 106, 107}
	for i, at := range testbed.Sequential(fields) {
		if i%testbed.Count(3, 1, 1) > 0 && at != 18 { // byte 18 makes it read-only
			continue
		}
		b := slices.Clone(whole)
		b[at] ^= 4
		if err := os.WriteFile(path, b, 0o600); err != nil {
			t.Fatal(err)
		}
		x = openTest(t, dir, func(c *Config) { c.Relaxed = true })
		mustVerify(t, x)
		if err := x.Snapshot(ctx); err != nil {
			t.Errorf("byte %d: %v", at, err)
		}
		if err := x.Close(); err != nil {
			t.Fatal(err)
		}
		x = openTest(t, dir, func(c *Config) { c.Relaxed = true })
		if x.snapshotEvent.Load() == 0 {
			t.Errorf("byte %d: the next snapshot was not used", at)
		}
		if err := x.Close(); err != nil {
			t.Fatal(err)
		}
	}
}

// damageRow damages one page of a kind, chosen at random.
func damageRow(t *testing.T, db *sql.DB, where string, damage func([]byte) []byte) {
	t.Helper()
	var id int64
	var page []byte
	if err := db.QueryRow(`SELECT id, data FROM pages WHERE `+where+` ORDER BY random() LIMIT 1`).Scan(&id, &page); err != nil {
		t.Fatalf("no page with %s: %v", where, err)
	}
	statement, args := `UPDATE pages SET data = ? WHERE id = ?`, []any{damage(page), id}
	if args[0].([]byte) == nil {
		statement, args = `DELETE FROM pages WHERE id = ?`, []any{id}
	}
	if _, err := db.Exec(statement, args...); err != nil {
		t.Fatal(err)
	}
}

// TestOtherFormat: a catalogue of another format is refused in one sentence, and no file of it changes, also where the
// process that wrote it was killed. Format 0 is that of jianguo before 1.0.
func TestOtherFormat(t *testing.T) {
	for _, other := range []int{0, 2} {
		dir := t.TempDir()
		path := filepath.Join(dir, FileName)
		if err := sqlite.Create(t.Context(), path, pageSize, other); err != nil {
			t.Fatal(err)
		}
		db, err := sqlite.Open(path, sqlite.Writes, "FULL")
		if err != nil {
			t.Fatal(err)
		}
		defer db.Close()
		if _, err := db.Exec(`CREATE TABLE goose_db_version (id INTEGER PRIMARY KEY)`); err != nil {
			t.Fatal(err)
		}
		before := filesOf(t, dir)
		x, err := Open(t.Context(), Config{Dir: dir})
		if err == nil {
			t.Fatal("opened", x.Close())
		}
		if text := err.Error(); !strings.Contains(text, fmt.Sprintf("has format %d", other)) || strings.Contains(text, "\n") {
			t.Error(text)
		}
		if after := filesOf(t, dir); !maps.Equal(before, after) {
			t.Errorf("format %d: files have changed", other)
		}
	}
}

// filesOf reads the files of a directory.
func filesOf(t *testing.T, dir string) map[string]string {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]string{}
	for _, e := range entries {
		b, err := os.ReadFile(filepath.Join(dir, e.Name()))
		if err != nil {
			t.Fatal(err)
		}
		out[e.Name()] = string(b)
	}
	return out
}
