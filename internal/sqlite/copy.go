package sqlite

import (
	"context"
	"database/sql"
	"fmt"

	"jianguo/internal/disk"
)

// Execer is a database, a connection or a transaction.
type Execer interface {
	ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error)
}

// CopyTo writes a compact, synced copy of an open file to a new one, in one read transaction.
func CopyTo(ctx context.Context, db Execer, to string) error {
	if _, err := db.ExecContext(ctx, `VACUUM INTO ?`, to); err != nil {
		return fmt.Errorf("copy to %s: %w", to, err)
	}
	return disk.Sync(to) // SQLite does not
}
