package index

import (
	"context"
	"database/sql"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"jianguo/index/indextest"
	"jianguo/internal/sqlite"
	"jianguo/internal/testbed"
)

// files are the contents of the files of a data directory, by name.
type files map[string][]byte

func readFiles(t *testing.T, dir string) files {
	t.Helper()
	all := files{}
	for _, name := range []string{FileName, FileName + "-wal", SnapshotFileName, SnapshotFileName + "-wal"} {
		b, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil && !errors.Is(err, os.ErrNotExist) {
			t.Fatal(err)
		}
		if err == nil {
			all[name] = b
		}
	}
	return all
}

// opened opens an index on such files and returns its events, its rows and the
// problems that Verify finds.
func (f files) opened(t *testing.T) (events, rows, problems []string, err error) {
	t.Helper()
	dir, err := os.MkdirTemp(t.TempDir(), "")
	testbed.OK(t, err)
	defer os.RemoveAll(dir)
	for name, b := range f {
		testbed.OK(t, os.WriteFile(filepath.Join(dir, name), b, 0o600))
	}
	p := DefaultPolicy()
	p.Rules = RulesHamming
	x, err := Open(context.Background(), Config{Dir: dir, Policy: &p, Language: English, Relaxed: true})
	if err != nil {
		return nil, nil, nil, err
	}
	defer func() { _ = x.Close() }()
	if events, rows, err = said(x); err != nil {
		return nil, nil, nil, err
	}
	r, err := x.Verify(context.Background())
	if err != nil {
		return nil, nil, nil, err
	}
	return events, rows, r.Problems, nil
}

// said returns every event of an index in its published form, and every row.
func said(x *Index) (events, rows []string, err error) {
	ctx := context.Background()
	all, err := x.Events(ctx, 0, -1)
	if err != nil {
		return nil, nil, err
	}
	for _, e := range all {
		b, err := json.Marshal(e)
		if err != nil {
			return nil, nil, err
		}
		events = append(events, string(b))
	}
	for _, table := range []string{"items", "texts", "events", "current", "clusters", "members", "decisions", "decision_items", "sources", "source_policies", "stamps", "meta"} {
		err := sqlite.Each(ctx, x.reader, `SELECT * FROM `+table, func(r *sql.Rows) error {
			names, err := r.Columns()
			if err != nil {
				return err
			}
			values, into := make([]any, len(names)), make([]any, len(names))
			for i := range values {
				into[i] = &values[i]
			}
			err = r.Scan(into...)
			rows = append(rows, table+fmt.Sprintf(" %q", values))
			return err
		})
		if err != nil {
			return nil, nil, err
		}
	}
	return events, rows, nil
}

// eventful fills an index with everything that a catalogue can hold: copies,
// revisions, withdrawals, decisions and undos.
func eventful(t *testing.T, x *Index) {
	t.Helper()
	fill(t, x, 1, 40)
	add := func(n int, m Mutation) {
		t.Helper()
		m.Seq, m.At = uint64(n), testStart.Add(time.Duration(n)*time.Second)
		put(t, x, m)
	}
	for n := 40; n < 60; n++ {
		add(n, Mutation{Article: article(fmt.Sprint("copy", n), fmt.Sprint("copy", n), uint64(n-39)<<40|uint64(n-39)<<8|0xfe)})
	}
	add(60, Mutation{Article: article("id3", "rewritten", 0x77<<50)})
	add(61, Mutation{Withdraw: &Withdrawal{ID: "id4", Promote: true}})
	add(62, Mutation{Withdraw: &Withdrawal{ID: "id5", Reason: "版权"}})
	for _, req := range []DecisionRequest{{Kind: Release, Item: "copy45"}, {Kind: MakeLead, Item: "copy46"}, {Kind: Undo, Undo: 2}} {
		req.By, req.At = "张三", testStart.Add(time.Hour)
		if _, err := x.Decide(context.Background(), req); err != nil {
			t.Fatal(err)
		}
	}
}

// TestDamagedLog flips bits everywhere in SQLite's log of the catalogue, and cuts it.
// Transactions after the damage are lost as if they had never been committed. Nothing
// else is lost or changed.
func TestDamagedLog(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	x := openTest(t, dir, func(c *Config) { c.Relaxed = true })
	eventful(t, x)
	testbed.OK(t, x.Snapshot(context.Background()))
	whole := readFiles(t, dir)
	want, _, err := said(x)
	testbed.OK(t, errors.Join(err, x.Close()))
	const log = FileName + "-wal"
	size := len(whole[log])
	if size < 100*pageSize {
		t.Fatalf("the log has %d bytes", size)
	}
	r := rand.New(rand.NewPCG(1, 1))
	at := []int{size - 1}
	step := testbed.Count(4, 2, 2)
	for i := 0; i < 56; i += step { // the header, and that of the first frame
		at = append(at, i)
	}
	for range testbed.Count(7, 20, 20) {
		frame := 32 + r.IntN((size-32)/(24+pageSize))*(24+pageSize)
		at = append(at, frame+r.IntN(24), frame+24+r.IntN(pageSize))
	}
	shorter := 0
	at = testbed.Sequential(at)
	for _, where := range at {
		for what, b := range map[string][]byte{"flipped": slices.Clone(whole[log]), "cut": whole[log][:where]} {
			if what == "flipped" {
				b[where] ^= 1 << r.IntN(8)
			}
			damaged := maps.Clone(whole)
			damaged[log] = b
			got, _, problems, err := damaged.opened(t)
			if err != nil || len(problems) > 0 {
				t.Fatalf("%s at %d: %v %v", what, where, err, problems)
			}
			if len(got) > len(want) || !slices.Equal(got, want[:len(got)]) {
				t.Fatalf("%s at %d: %d events, and not the first of those that were", what, where, len(got))
			}
			if len(got) < len(want) {
				shorter++
			}
		}
	}
	t.Logf("%d of %d times the end was lost", shorter, 2*len(at))
	if shorter < len(at) {
		t.Error("hardly anything was damaged")
	}
}

// TestDamagedCatalogue flips bits everywhere in the catalogue's file, and cuts it. Open
// refuses the file, or Verify finds the damage, or nothing has changed.
func TestDamagedCatalogue(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	x := openTest(t, dir, func(c *Config) { c.Relaxed = true })
	eventful(t, x)
	want, wantRows, err := said(x)
	testbed.OK(t, errors.Join(err, x.Snapshot(context.Background()), x.Close()))
	whole := readFiles(t, dir)
	size := len(whole[FileName])
	if got := int(binary.BigEndian.Uint16(whole[FileName][16:])); got != pageSize {
		t.Fatalf("pages of %d bytes", got)
	}
	r := rand.New(rand.NewPCG(2, 2))
	var at []int
	for i := range 54 { // the header, and that of the first page
		at = append(at, 2*i)
	}
	for page := 0; page < size; page += pageSize {
		for _, region := range []int{8, 64, pageSize} { // its header, its pointers, its cells
			for range 2 {
				at = append(at, page+r.IntN(region))
			}
		}
	}
	at = testbed.Sequential(at)
	flips, silent := 0, 0
	outcomes := map[string]int{}
	every := testbed.Count(6, 1, 1)
	for i := 0; i < len(at); i += every {
		where := at[i]
		damaged := maps.Clone(whole)
		if where > 0 && where%7 == 0 {
			damaged[FileName] = whole[FileName][:where]
			if _, _, problems, err := damaged.opened(t); err == nil && len(problems) == 0 {
				t.Errorf("cut at %d of %d: not noticed", where, size)
			}
		}
		b := slices.Clone(whole[FileName])
		b[where] ^= 1 << r.IntN(8)
		damaged[FileName] = b
		events, rows, problems, err := damaged.opened(t)
		flips++
		switch {
		case err != nil:
			outcomes["refused"]++
		case len(problems) > 0:
			outcomes["found by verify"]++
		case slices.Equal(events, want) && slices.Equal(rows, wantRows):
			outcomes["no harm"]++
		default:
			silent++
			for i := range min(len(rows), len(wantRows)) {
				if rows[i] != wantRows[i] {
					t.Logf("%d: unnoticed, %.120s became %.120s", where, wantRows[i], rows[i])
					break
				}
			}
		}
	}
	t.Logf("%d bytes, %d bits flipped: %v, unnoticed %d", size, flips, outcomes, silent)
	if silent > 0 || outcomes["refused"] == 0 || outcomes["found by verify"] == 0 {
		t.Errorf("of %d flips %d went unnoticed", flips, silent)
	}
}

// TestLostRows: rows that others speak of are missed, though the file is whole: a write that the disk has lost.
func TestLostRows(t *testing.T) {
	t.Parallel()
	x := openTest(t, t.TempDir(), func(c *Config) { c.Relaxed, c.Recipe = true, func() (string, error) { return "r", nil } })
	defer func() { _ = x.Close() }()
	if _, err := x.conn.ExecContext(t.Context(), `DELETE FROM meta WHERE key = 'policy'`); err != nil {
		t.Fatal(err)
	}
	if r, err := x.Verify(t.Context()); err != nil || len(r.Problems) != 0 {
		t.Errorf("an empty catalogue that was killed before it had a policy: %+v, %v", r, err)
	}
	testbed.OK(t, x.transaction(t.Context(), func() { x.record(t.Context()) }))
	eventful(t, x)
	a := indextest.ArticleOf("from", strings.Repeat("海岬市图书馆新馆周六上午正式开放，首日接待读者一万两千人。", 9))
	a.Source = "海岬晚报"
	put(t, x, Mutation{Seq: 63, At: testStart, Article: a})
	decideTest(t, x, DecisionRequest{Kind: Release, Items: []DecisionItem{{Item: "copy50"}, {Item: "copy51"}}})
	if _, err := x.Decide(t.Context(), DecisionRequest{Kind: Exempt, Item: "id1", By: "李四", At: testStart.Add(time.Minute)}); err != nil {
		t.Fatal(err)
	}
	if _, err := x.Decide(t.Context(), DecisionRequest{Kind: Block, Item: "from", By: "李四", At: testStart.Add(2 * time.Hour)}); err != nil {
		t.Fatal(err)
	}
	mustVerify(t, x)
	for _, c := range [][2]string{
		{`UPDATE items SET of = (SELECT min(ordinal) FROM items WHERE verdict = 3)
			WHERE ordinal = (SELECT max(ordinal) FROM items WHERE verdict = 3)`, "59: item is a copy of something that was neither accepted nor blocked"},
		{`DELETE FROM meta WHERE key = 'applied'`, "63: sequence is applied, and meta lacks it, the policy or the stream"},
		{`INSERT INTO meta (key, value) VALUES ('applied', '63'); DELETE FROM meta WHERE key = 'policy'`, "63: sequence is applied, and meta lacks it, the policy or the stream"},
		{`DELETE FROM boilerplate`, "1: source has learned nothing"},
		{`DELETE FROM decisions WHERE number = 6`, "72: editor's event belongs to no decision"},
		{`DELETE FROM decisions WHERE number = 5`, "1: item is exempt or set aside, and nobody decided so"},
		{`DELETE FROM texts WHERE ordinal = 1`, "1: item's text is missing"},
		{`DELETE FROM texts`, "5: item's text is missing"},
		{`DELETE FROM sources`, "61: item's source is missing"},
		{`DELETE FROM clusters WHERE id IN (SELECT cluster FROM members WHERE ordinal = 1)`, "1: member belongs to no cluster"},
		{`DELETE FROM decisions WHERE number = 1`, "2: decision is missing before it"},
		{`DELETE FROM decisions WHERE number = 4`, "4: decision about items is missing"},
	} {
		if _, err := x.conn.ExecContext(t.Context(), c[0]); err != nil {
			t.Fatal(err)
		}
		if r, err := x.Verify(t.Context()); err != nil || !slices.Contains(r.Problems, c[1]) {
			t.Errorf("%s: %v, %v", c[0], r.Problems, err)
		}
	}
}
