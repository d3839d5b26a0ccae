// Package maintain is for commands that work on the files of a catalogue while no service runs on them: it copies and
// measures a catalogue, and judges again what it holds.
package maintain

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"jianguo/index"
	"jianguo/internal/sqlite"
)

// Copy copies the catalogue of a directory into another one and syncs it. The
// directory may be in use: the copy has the state of one moment of the run. The
// snapshot is copied first, so that it is never newer than the catalogue. All other
// files can be rebuilt from these two.
func Copy(ctx context.Context, dir, to string) error {
	for _, name := range []string{index.SnapshotFileName, index.FileName} {
		err := copyFile(ctx, filepath.Join(dir, name), filepath.Join(to, name))
		if errors.Is(err, fs.ErrNotExist) && name == index.SnapshotFileName {
			continue // not written yet
		}
		if err != nil {
			return fmt.Errorf("backup of %s: %w", name, err)
		}
	}
	return nil
}

// copyFile copies a file of SQLite that may be in use.
func copyFile(ctx context.Context, from, to string) (err error) {
	if _, err := os.Stat(from); err != nil {
		return err
	}
	db, err := sqlite.Open(from, sqlite.Writes, "NORMAL")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	return sqlite.CopyTo(ctx, db, to)
}
