package index

import (
	"context"
	"database/sql"
	_ "embed"
	"fmt"

	"jianguo/internal/sqlite"
	"jianguo/internal/wrap"
)

//go:embed schema.sql
var schema string

// format is the number of the layout in schema.sql: SQLite's user_version in the header of the file.
const format = 1

// openWriter opens the file of a catalogue, and creates it if there is none. It does not touch a file of another
// format.
func openWriter(ctx context.Context, path, synchronous string) (*sql.DB, error) {
	if have, ok := sqlite.Format(path); ok && have != format {
		return nil, fmt.Errorf("%s has format %d, and this jianguo reads and writes format %d only: start the jianguo "+
			"that wrote it, or start with an empty data directory; if no other one wrote it, the file is damaged", path,
			have, format)
	}
	if err := sqlite.CheckHeader(path); err != nil {
		return nil, err
	}
	if err := sqlite.Create(ctx, path, pageSize, format); err != nil {
		return nil, err
	}
	db, err := sqlite.Open(path, sqlite.Creates, synchronous)
	if err != nil {
		return nil, err
	}
	db.SetMaxOpenConns(1)
	var tables int
	err = db.QueryRowContext(ctx, `SELECT count(*) FROM sqlite_schema`).Scan(&tables)
	if err == nil && tables == 0 {
		_, err = db.ExecContext(ctx, "BEGIN IMMEDIATE;\n"+schema+"COMMIT;")
	} else if err == nil {
		err = sqlite.CheckColumns(ctx, db, schema)
	}
	return db, wrap.Err(err, "%s", path)
}
