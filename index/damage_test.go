package index

import (
	"context"
	"encoding/binary"
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
		put(t, x, Mutation{Seq: uint64(n), At: testStart, Article: a})
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
	testbed.OK(t, errors.Join(x.Snapshot(ctx), x.Close()))
	whole, err := os.ReadFile(path)
	testbed.OK(t, err)
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
			testbed.OK(t, os.WriteFile(path, damagePage(t, whole, kind, damage), 0o600))
			testbed.OK(t, x.Close())
			x = openTest(t, dir, nil)
			if got := x.snapshotEvent.Load(); got != 0 {
				t.Errorf("%s, %s: the snapshot was used", name, way)
			}
			mustVerify(t, x)
		}
	}
	testbed.OK(t, x.Close())
}

// TestSnapshotEnds: with any damage to the first frame and the footer of a snapshot, the index is complete and can
// write the next snapshot.
func TestSnapshotEnds(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	dir := t.TempDir()
	path := filepath.Join(dir, SnapshotFileName)
	x := openTest(t, dir, func(c *Config) { c.Relaxed = true })
	fill(t, x, 1, 10)
	testbed.OK(t, errors.Join(x.Snapshot(ctx), x.Close()))
	whole, err := os.ReadFile(path)
	testbed.OK(t, err)
	fields := []int{0, 4, 7, 8, 12, 15, 16, 23} // bounds of those of the first frame
	for at := 0; at < 64; at += 7 {
		fields = append(fields, len(whole)-64+at)
	}
	for i, at := range testbed.Sequential(fields) {
		if i%testbed.Count(3, 1, 1) > 0 {
			continue
		}
		b := slices.Clone(whole)
		b[at] ^= 4
		testbed.OK(t, os.WriteFile(path, b, 0o600))
		x = openTest(t, dir, func(c *Config) { c.Relaxed = true })
		mustVerify(t, x)
		if err := x.Snapshot(ctx); err != nil {
			t.Errorf("byte %d: %v", at, err)
		}
		testbed.OK(t, x.Close())
		x = openTest(t, dir, func(c *Config) { c.Relaxed = true })
		if x.snapshotEvent.Load() == 0 {
			t.Errorf("byte %d: the next snapshot was not used", at)
		}
		testbed.OK(t, x.Close())
	}
}

// damagePage damages a page of a kind, chosen at random: of those of a snapshot, each behind its id, size and sum.
func damagePage(t *testing.T, file []byte, kind int, damage func([]byte) []byte) []byte {
	t.Helper()
	const frame, footer = 24, 64
	var found []int
	for at := 0; at < len(file)-footer; at += frame + int(binary.LittleEndian.Uint64(file[at+8:])) {
		if int(binary.LittleEndian.Uint32(file[at+4:])) == kind {
			found = append(found, at)
		}
	}
	if len(found) == 0 {
		t.Fatalf("no page of kind %d", kind)
	}
	at := found[rand.IntN(len(found))]
	end := at + frame + int(binary.LittleEndian.Uint64(file[at+8:]))
	page := damage(slices.Clone(file[at+frame : end]))
	if page == nil {
		return slices.Concat(file[:at], file[end:])
	}
	head := slices.Clone(file[at:][:frame])
	binary.LittleEndian.PutUint64(head[8:], uint64(len(page)))
	return slices.Concat(file[:at], head, page, file[end:])
}

// TestOtherFormat: a catalogue of another format is refused in one sentence, and no file of it changes, also where the
// process that wrote it was killed. Format 0 is that of jianguo before 1.0.
func TestOtherFormat(t *testing.T) {
	for _, other := range []int{0, 2} {
		dir := t.TempDir()
		path := filepath.Join(dir, FileName)
		testbed.OK(t, sqlite.Create(t.Context(), path, pageSize, other))
		db, err := sqlite.Open(path, sqlite.Writes, "FULL")
		testbed.OK(t, err)
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

// TestOtherBuild: a catalogue of format 1 with other columns, or with sketches that this build cannot read, is refused
// when it is opened, not with the first article, and no file of it changes.
func TestOtherBuild(t *testing.T) {
	for _, change := range []string{
		"DROP INDEX clusters_by_follows; ALTER TABLE clusters DROP COLUMN follows",
		"ALTER TABLE clusters ADD COLUMN later INTEGER",
		"DROP TABLE reviews",
		"UPDATE items SET sketch = x'63' WHERE ordinal = 1",
		"UPDATE items SET sketch = x'63' WHERE ordinal = 19",
	} {
		dir := t.TempDir()
		x := openTest(t, dir, nil)
		fill(t, x, 1, 20)
		testbed.OK(t, errors.Join(x.Snapshot(t.Context()), x.Close()))
		db, err := sqlite.Open(filepath.Join(dir, FileName), sqlite.Writes, "FULL")
		testbed.OK(t, err)
		_, err = db.Exec(change)
		testbed.OK(t, errors.Join(err, db.Close()))
		before := filesOf(t, dir)
		if x, err := Open(t.Context(), Config{Dir: dir}); err == nil {
			t.Errorf("%s: opened, %v", change, x.Close())
		} else if text := err.Error(); !strings.Contains(text, "start the jianguo that wrote it") {
			t.Errorf("%s: %s", change, text)
		} else if !maps.Equal(before, filesOf(t, dir)) {
			t.Errorf("%s: files have changed", change)
		}
	}
}

// filesOf reads the files of a directory.
func filesOf(t *testing.T, dir string) map[string]string {
	t.Helper()
	entries, err := os.ReadDir(dir)
	testbed.OK(t, err)
	out := map[string]string{}
	for _, e := range entries {
		b, err := os.ReadFile(filepath.Join(dir, e.Name()))
		testbed.OK(t, err)
		out[e.Name()] = string(b)
	}
	return out
}
