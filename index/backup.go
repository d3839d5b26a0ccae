package index

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"jianguo/index/sqlite"
)

// Backup copies the catalogue of a directory, which may be in use, into
// another one: as it stood at one moment while this ran, synced. The snapshot of
// what is resident is copied first, so that it is never ahead; what else there
// is follows from the two and is made anew.
func Backup(ctx context.Context, dir, to string) error {
	for _, name := range []string{SnapshotFileName, FileName} {
		err := vacuumInto(ctx, filepath.Join(dir, name), filepath.Join(to, name))
		if errors.Is(err, fs.ErrNotExist) && name == SnapshotFileName {
			continue // it is made when there is something to put in
		}
		if err != nil {
			return fmt.Errorf("index: backup of %s: %w", name, err)
		}
	}
	return nil
}

// vacuumInto writes a SQLite file anew, in one read transaction.
func vacuumInto(ctx context.Context, from, to string) (err error) {
	if _, err := os.Stat(from); err != nil {
		return err
	}
	db, err := sqlite.Open(from, sqlite.Writes, "NORMAL")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	if _, err := db.ExecContext(ctx, `VACUUM INTO ?`, to); err != nil {
		return err
	}
	// SQLite does not sync what it vacuums into.
	f, err := os.Open(to)
	if err != nil {
		return err
	}
	return errors.Join(f.Sync(), f.Close())
}
