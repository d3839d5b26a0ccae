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

// Backup copies the catalogue of a directory into another one and syncs it. The
// directory may be in use: the copy has the state of one moment of the run. The
// snapshot is copied first, so that it is never newer than the catalogue. All other
// files can be rebuilt from these two.
func Backup(ctx context.Context, dir, to string) error {
	for _, name := range []string{SnapshotFileName, FileName} {
		err := vacuumInto(ctx, filepath.Join(dir, name), filepath.Join(to, name))
		if errors.Is(err, fs.ErrNotExist) && name == SnapshotFileName {
			continue // not written yet
		}
		if err != nil {
			return fmt.Errorf("index: backup of %s: %w", name, err)
		}
	}
	return nil
}

// CopyTo writes a compact copy of the catalogue to a new file, also if the file of the
// catalogue has been removed.
func (x *Index) CopyTo(ctx context.Context, path string) error {
	x.write.Lock()
	defer x.write.Unlock()
	if _, err := x.w.conn.ExecContext(ctx, `VACUUM INTO ?`, path); err != nil {
		return fmt.Errorf("index: copy to %s: %w", path, err)
	}
	return nil
}

// AddSums adds the checksums that rows of earlier versions lack, and returns their number.
func (x *Index) AddSums(ctx context.Context) (int64, error) {
	x.write.Lock()
	defer x.write.Unlock()
	n, err := sqlite.AddSums(ctx, x.w.conn)
	if err != nil {
		return n, fmt.Errorf("index: checksums: %w", err)
	}
	return n, nil
}

// vacuumInto writes a compact copy of a SQLite file, in one read transaction.
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
	// SQLite does not sync the target of VACUUM INTO.
	f, err := os.Open(to)
	if err != nil {
		return err
	}
	return errors.Join(f.Sync(), f.Close())
}
