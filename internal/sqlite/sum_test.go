package sqlite

import (
	"context"
	"path/filepath"
	"slices"
	"testing"

	"jianguo/internal/testbed"
)

// TestSums: the program and SQLite compute the same checksum, in four bytes of a row. A row with
// a bit flipped, in itself or in its checksum, differs, and so does one without a checksum.
func TestSums(t *testing.T) {
	ctx := context.Background()
	db, err := Open(filepath.Join(t.TempDir(), "a.db"), Creates, "NORMAL")
	testbed.OK(t, err)
	defer db.Close()
	exec := func(query string, args ...any) {
		t.Helper()
		if _, err := db.ExecContext(ctx, query, args...); err != nil {
			t.Fatal(err)
		}
	}
	verify := func() (wrong int) {
		t.Helper()
		testbed.OK(t, VerifySums(ctx, db, func(error) { wrong++ }))
		return wrong
	}
	exec(`CREATE TABLE rows (number INTEGER PRIMARY KEY, value, sum INTEGER)`)
	exec(`INSERT INTO rows VALUES (?, ?, ?)`, WithSum(1, "a text")...)
	for i, v := range []any{int64(-1), 0.5, []byte{1, 2}, nil, "文"} {
		exec(`INSERT INTO rows VALUES (?, ?, ?)`, WithSum(i+2, v)...)
	}
	if wrong := verify(); wrong != 0 {
		t.Fatalf("%d whole rows differ", wrong)
	}
	sums, err := Column[int64](ctx, db, `SELECT sum FROM rows ORDER BY number`)
	if err != nil || slices.ContainsFunc(sums, func(n int64) bool { return n != int64(int32(n)) }) {
		t.Fatal("checksums of more than four bytes:", sums, err)
	}
	for bit := range 32 {
		exec(`UPDATE rows SET sum = (sum | (1 << ?1)) - (sum & (1 << ?1)) WHERE number = 1`, bit)
		if wrong := verify(); wrong != 1 {
			t.Errorf("bit %d of the checksum: %d rows differ", bit, wrong)
		}
		exec(`UPDATE rows SET sum = ? WHERE number = 1`, sums[0])
	}
	exec(`UPDATE rows SET value = 'b text' WHERE number = 1`)
	exec(`UPDATE rows SET sum = NULL WHERE number = 2`)
	if wrong := verify(); wrong != 2 {
		t.Errorf("%d rows differ, and two do", wrong)
	}
}
