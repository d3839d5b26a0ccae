package exposure

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strconv"
	"time"

	"jianguo/internal/sqlite"
)

// CopyFile copies a state file, which may be in use, to another place: as it stood
// at one moment, synced. It waits until the file holds every event up to a
// sequence of the log; 0 does not wait.
func CopyFile(ctx context.Context, path, to string, seq uint64) (err error) {
	db, err := sql.Open("sqlite3", FileDSN(path, "_busy_timeout=10000"))
	if err != nil {
		return fmt.Errorf("exposure: backup: %w", err)
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	for {
		var applied string
		if err := db.QueryRowContext(ctx, "SELECT value FROM meta WHERE name = 'applied'").Scan(&applied); err != nil {
			return fmt.Errorf("exposure: backup of %s: %w", path, err)
		}
		n, err := strconv.ParseUint(applied, 10, 64)
		if err != nil {
			return fmt.Errorf("exposure: meta applied: %w", err)
		}
		if n >= seq {
			break
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("exposure: the state file holds events up to %d of %d: %w", n, seq, ctx.Err())
		case <-time.After(50 * time.Millisecond):
		}
	}
	if err := sqlite.CopyTo(ctx, db, to); err != nil {
		return fmt.Errorf("exposure: backup of %s: %w", path, err)
	}
	return nil
}
