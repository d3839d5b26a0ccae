// Package maintain is for commands that work on the files of a catalogue while no service runs on them: it copies and
// measures a catalogue, and judges again what it holds.
package maintain

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"jianguo/index"
	"jianguo/internal/must"
	"jianguo/internal/sqlite"
	"jianguo/internal/wrap"
)

// Copy copies the catalogue of a directory into another one and syncs it. The
// directory may be in use: the copy has the state of one moment of the run. The
// snapshot is copied first, so that it is never newer than the catalogue. All other
// files can be rebuilt from these two.
func Copy(ctx context.Context, dir, to string) error {
	if err := copySnapshot(dir, to); err != nil && !errors.Is(err, fs.ErrNotExist) { // not written yet
		return wrap.Err(err, "backup of %s", index.SnapshotFileName)
	}
	return wrap.Err(must.Catch(func() {
		path := filepath.Join(dir, index.FileName)
		must.Get(os.Stat(path))
		db := must.Get(sqlite.Open(path, sqlite.Writes, "NORMAL"))
		defer db.Close()
		must.Do(sqlite.CopyTo(ctx, db, filepath.Join(to, index.FileName)))
	}), "backup of %s", index.FileName)
}

// copySnapshot copies a file that a service replaces, and never changes.
func copySnapshot(dir, to string) error {
	from, err := os.Open(filepath.Join(dir, index.SnapshotFileName))
	if err != nil {
		return err
	}
	defer from.Close()
	file, err := os.OpenFile(filepath.Join(to, index.SnapshotFileName), os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	_, err = io.Copy(file, from)
	return errors.Join(err, file.Sync(), file.Close())
}
