package sqlite

import (
	"context"
	"database/sql"
	"fmt"
	"os"
	"slices"
)

// Part is a table of a file, or the rest of the file.
type Part struct {
	Name  string
	Bytes int64
}

// Sizes returns the bytes of the values in each table of a SQLite file, the largest table
// first, and what the file, which must not have a log, takes in addition: indexes, the
// structure of pages, and free pages. Numbers count as eight bytes.
func Sizes(ctx context.Context, db *sql.DB, path string) ([]Part, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	parts, err := All(ctx, db, func(p *Part) []any { return []any{&p.Name} }, `SELECT name FROM sqlite_schema WHERE type = 'table'`)
	rest := info.Size()
	for i := range parts {
		p := &parts[i]
		var columns string
		if err == nil {
			err = db.QueryRowContext(ctx, `SELECT group_concat('CASE WHEN typeof("' || name || '") IN (''text'', ''blob'') THEN octet_length("' || name || '") ELSE 8 END', '+')
				FROM pragma_table_info(?)`, p.Name).Scan(&columns)
		}
		if err == nil {
			err = db.QueryRowContext(ctx, fmt.Sprintf(`SELECT coalesce(sum(%s), 0) FROM "%s"`, columns, p.Name)).Scan(&p.Bytes)
		}
		rest -= p.Bytes
	}
	slices.SortStableFunc(parts, func(a, b Part) int { return int(b.Bytes - a.Bytes) })
	return append(parts, Part{"indexes and structure", rest}), err
}
