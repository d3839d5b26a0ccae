package index

import (
	"context"
	"database/sql"
	"embed"
	"fmt"
	"io/fs"

	"github.com/pressly/goose/v3"
	"github.com/pressly/goose/v3/database"

	"jianguo/internal/must"
)

//go:embed migrations/*.sql
var migrations embed.FS

// migrate brings a catalogue to the format of this program. Package must ends it.
func migrate(ctx context.Context, db *sql.DB) {
	p, err := goose.NewProvider(database.DialectSQLite3, db, must.Get(fs.Sub(migrations, "migrations")), goose.WithDisableGlobalRegistry(true))
	must.Dof(err, "migrations")
	have, know, err := p.GetVersions(ctx)
	must.Dof(err, "migrate")
	if have > know {
		must.Do(fmt.Errorf("the file has version %d, and this program knows versions up to %d: it was written by a newer jianguo, start that one", have, know))
	}
	_, err = p.Up(ctx)
	must.Dof(err, "migrate")
}
