package sqlite

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/mattn/go-sqlite3"
	"github.com/zeebo/xxh3"
)

// driverName is SQLite with row_sum, the function in the triggers that keep the column sum of the
// tables of a catalogue (index/schema.sql).
const driverName = "sqlite3-sums"

func init() {
	sql.Register(driverName, &sqlite3.SQLiteDriver{ConnectHook: func(c *sqlite3.SQLiteConn) error {
		return c.RegisterFunc("row_sum", rowSum, true)
	}})
}

// rowSum hashes the values of a row: the type of each (its length, for text and bytes), and
// the value. It is the lower half of the hash, in four bytes of a row.
func rowSum(values ...any) int64 {
	b := make([]byte, 0, 512)
	for _, v := range values {
		switch v := v.(type) {
		case int64:
			b = binary.LittleEndian.AppendUint64(append(b, 'i'), uint64(v))
		case float64:
			b = binary.LittleEndian.AppendUint64(append(b, 'r'), math.Float64bits(v))
		case []byte:
			b = append(binary.LittleEndian.AppendUint32(append(b, 'b'), uint32(len(v))), v...)
		case string:
			b = append(binary.LittleEndian.AppendUint32(append(b, 't'), uint32(len(v))), v...)
		default: // NULL, which the driver hands to functions as no bytes
			b = append(b, 'b', 0, 0, 0, 0)
		}
	}
	return int64(int32(xxh3.Hash(b)))
}

// WithSum appends to the values of a row their checksum, which is that of a trigger for a tenth
// of its time.
func WithSum(values ...any) []any {
	out := make([]any, len(values), len(values)+1)
	for i, v := range values {
		var err error
		if out[i], err = driver.DefaultParameterConverter.ConvertValue(v); err != nil {
			panic(err) // no row has a value of another type
		}
	}
	return append(out, rowSum(out...))
}

// Table is a table that has a column sum. Its first column is the key, and Columns are those that the sum is of.
type Table struct{ Name, Key, Columns string }

// Summed returns every such table.
func Summed(ctx context.Context, db Querier) ([]Table, error) {
	return All(ctx, db, func(t *Table) []any { return []any{&t.Name, &t.Key, &t.Columns} }, `SELECT t.name, c.name,
		(SELECT group_concat('"' || name || '"') FROM (SELECT name FROM pragma_table_info(t.name) WHERE name != 'sum'
			ORDER BY cid))
		FROM sqlite_schema t, pragma_table_info(t.name) c
		WHERE t.type = 'table' AND c.cid = 0 AND EXISTS (SELECT 1 FROM pragma_table_info(t.name) WHERE name = 'sum')`)
}

// ErrSum says that a row is not what was written.
var ErrSum = errors.New("is not what was written: its checksum differs")

// VerifySums compares the rows of tables (none given: of all) with their checksums, and calls report for each that
// differs.
func VerifySums(ctx context.Context, db Querier, report func(error), only ...string) error {
	tables, err := Summed(ctx, db)
	if err != nil {
		return err
	}
	for _, t := range tables {
		if len(only) > 0 && !slices.Contains(only, t.Name) {
			continue
		}
		query := fmt.Sprintf(`SELECT %s FROM %s WHERE sum IS NOT row_sum(%s)`, t.Key, t.Name, t.Columns)
		wrong, err := Column[any](ctx, db, query)
		if err != nil {
			return err
		}
		for _, row := range wrong {
			report(fmt.Errorf("row %v of %s %w", row, t.Name, ErrSum))
		}
	}
	return nil
}
