package index

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"jianguo/internal/must"
	"jianguo/internal/sqlite"
)

// Size is the size of one part of the data directory.
type Size struct {
	File  string `json:"file"`
	Part  string `json:"part"` // a table, or the rest of a file
	Bytes int64  `json:"bytes"`
	// Kept says that it holds kept texts, or data for browsing, which judging does
	// not need.
	Kept bool `json:"kept,omitempty"`
}

// Sizes returns the bytes on disk: the catalogue by table (see sqlite.Sizes), and the snapshot
// as a whole. Nothing may write meanwhile.
func (x *Index) Sizes(ctx context.Context) (sizes []Size, err error) {
	x.write.Lock()
	defer x.write.Unlock()
	err = must.Catch(func() {
		must.Get(x.w.conn.ExecContext(ctx, `PRAGMA wal_checkpoint(TRUNCATE)`))
		for _, p := range must.Get(sqlite.Sizes(ctx, x.reader, filepath.Join(x.cfg.Dir, FileName))) {
			sizes = append(sizes, Size{File: FileName, Part: p.Name, Bytes: p.Bytes, Kept: p.Name == "texts"})
		}
	})
	if err != nil {
		return nil, fmt.Errorf("index: sizes: %w", err)
	}
	if info, err := os.Stat(filepath.Join(x.cfg.Dir, SnapshotFileName)); err == nil {
		sizes = append(sizes, Size{File: SnapshotFileName, Part: "pages", Bytes: info.Size()})
	}
	return sizes, nil
}
