package sqlite

import (
	"context"
	"path/filepath"
	"testing"
)

// sumOfEarlier is the checksum of the row (1, 'a text') in a file of format 10.
const sumOfEarlier int64 = -7819609412582451576

// TestSums: the program and SQLite compute the same checksum, in four bytes of a row. Rows that
// have 64 bits of an earlier version are whole; a row with a bit flipped, in itself or in its
// checksum, is not, and one without a checksum is counted.
func TestSums(t *testing.T) {
	ctx := context.Background()
	db, err := Open(filepath.Join(t.TempDir(), "a.db"), Creates, "NORMAL")
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	exec := func(query string, args ...any) {
		t.Helper()
		if _, err := db.ExecContext(ctx, query, args...); err != nil {
			t.Fatal(err)
		}
	}
	verify := func() (wrong int, without int64) {
		t.Helper()
		without, err := VerifySums(ctx, db, func(error) { wrong++ })
		if err != nil {
			t.Fatal(err)
		}
		return wrong, without
	}
	exec(`CREATE TABLE rows (number INTEGER PRIMARY KEY, value, sum INTEGER)`)
	exec(`INSERT INTO rows VALUES (?, ?, ?)`, WithSum(1, "a text")...)
	for i, v := range []any{int64(-1), 0.5, []byte{1, 2}, nil, "文"} {
		exec(`INSERT INTO rows VALUES (?, ?, ?)`, WithSum(i+2, v)...)
	}
	if wrong, without := verify(); wrong != 0 || without != 0 {
		t.Fatalf("%d whole rows differ, %d have no checksum", wrong, without)
	}
	if sums, err := Column[int64](ctx, db, `SELECT sum FROM rows WHERE sum NOT BETWEEN -0x80000000 AND 0x7fffffff`); err != nil || len(sums) > 0 {
		t.Fatal("checksums of more than four bytes:", sums, err)
	}
	exec(`UPDATE rows SET sum = ? WHERE number = 1`, sumOfEarlier)
	if wrong, _ := verify(); wrong != 0 {
		t.Error("the row of an earlier version differs")
	}
	for bit := range 32 {
		exec(`UPDATE rows SET sum = (sum | (1 << ?1)) - (sum & (1 << ?1)) WHERE number = 1`, bit)
		if wrong, _ := verify(); wrong != 1 {
			t.Errorf("bit %d of the checksum: %d rows differ", bit, wrong)
		}
		exec(`UPDATE rows SET sum = ? WHERE number = 1`, sumOfEarlier)
	}
	exec(`UPDATE rows SET value = 'b text' WHERE number = 1`)
	exec(`UPDATE rows SET sum = NULL WHERE number = 2`)
	if wrong, without := verify(); wrong != 1 || without != 1 {
		t.Errorf("%d rows differ, %d have no checksum, and one is so each", wrong, without)
	}
}
