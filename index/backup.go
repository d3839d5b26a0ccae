package index

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"

	"jianguo/internal/sqlite"
)

// Backup copies the catalogue of a directory into another one and syncs it. The
// directory may be in use: the copy has the state of one moment of the run. The
// snapshot is copied first, so that it is never newer than the catalogue. All other
// files can be rebuilt from these two.
func Backup(ctx context.Context, dir, to string) error {
	for _, name := range []string{SnapshotFileName, FileName} {
		err := sqlite.CopyFile(ctx, filepath.Join(dir, name), filepath.Join(to, name))
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
	return sqlite.CopyTo(ctx, x.w.conn, path)
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
