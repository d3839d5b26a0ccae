package index

import (
	"cmp"
	"context"
	_ "embed"
	"fmt"

	"jianguo/internal/must"
	"jianguo/internal/sqlite"
)

//go:embed schema.sql
var schema string

// format is the number of the layout in schema.sql: SQLite's user_version in the header of the file.
const format = 1

// otherBuild says what to do about a catalogue that this program cannot read.
const otherBuild = "start the jianguo that wrote it, or start with an empty data directory; if no other one wrote " +
	"it, the file is damaged"

// openWriter opens the file of a catalogue, and creates it if there is none. It does not touch a file of another
// format. It panics on errors (must).
func (x *Index) openWriter(ctx context.Context, path, synchronous string) {
	if have, ok := sqlite.Format(path); ok && have != format {
		must.Do(fmt.Errorf("%s has format %d, and this jianguo reads and writes format %d only: %s", path, have, format,
			otherBuild))
	}
	must.Do(sqlite.CheckHeader(path))
	must.Do(sqlite.Create(ctx, path, pageSize, format))
	x.writer = must.Get(sqlite.Open(path, sqlite.Creates, synchronous))
	x.writer.SetMaxOpenConns(1)
	var tables int
	err := x.writer.QueryRowContext(ctx, `SELECT count(*) FROM sqlite_schema`).Scan(&tables)
	if err == nil && tables == 0 {
		_, err = x.writer.ExecContext(ctx, "BEGIN IMMEDIATE;\n"+schema+"COMMIT;")
	}
	must.Dof(err, "%s", path)
	if same, err := sqlite.HasColumns(ctx, x.writer, schema); err != nil || !same {
		must.Do(cmp.Or(err, fmt.Errorf("%s has other columns than this jianguo writes: %s", path, otherBuild)))
	}
}
