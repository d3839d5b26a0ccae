package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"jianguo/internal/datadir"
	"jianguo/internal/sqlite"
)

// kept are the files of a running service that nothing can replace, as they were when they
// were opened.
type kept map[string]fs.FileInfo

func openKept(dir string) (kept, error) {
	k := kept{}
	for _, name := range []string{datadir.Catalogue, datadir.Exposures} {
		info, err := os.Stat(filepath.Join(dir, name))
		if err != nil {
			return nil, fmt.Errorf("data directory: %w", err)
		}
		k[name] = info
	}
	return k, nil
}

// Errors that end a service.
var (
	errFileGone = errors.New("was removed or replaced while the service ran")
	errFileCut  = errors.New("was cut short while the service ran: put a backup of the directory in its place")
)

// gone returns the names of files that were removed or replaced.
func (k kept) gone(dir string) (names []string) {
	for name, was := range k {
		if info, err := os.Stat(filepath.Join(dir, name)); errors.Is(err, fs.ErrNotExist) || err == nil && !os.SameFile(was, info) {
			names = append(names, name)
		}
	}
	return names
}

// cut returns the name of a file that has become shorter, "" if none has: SQLite never
// shortens a file that is in use.
func (k kept) cut(dir string) string {
	for name, was := range k {
		if info, err := os.Stat(filepath.Join(dir, name)); err == nil {
			if info.Size() < was.Size() {
				return name
			}
			k[name] = info
		}
	}
	return ""
}

// watchFiles ends the service when a file is removed or cut short: what it wrote would be lost.
func (s *service) watchFiles(ctx context.Context) error {
	tick := time.NewTicker(time.Second)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
			if names := s.kept.gone(s.dir); len(names) > 0 {
				return fmt.Errorf("data directory %s: %s %w", s.dir, names[0], errFileGone)
			}
			if name := s.kept.cut(s.dir); name != "" {
				return fmt.Errorf("data directory %s: %s %w", s.dir, name, errFileCut)
			}
		}
	}
}

// rescued ends the name of a copy of a file that was removed.
const rescued = ".rescued"

// rescue copies the files that were removed, which are still open, and returns a function
// that puts the copies in their place once all are closed. Where there is another file by
// now, the copy stays beside it.
func (s *service) rescue() (settle func() error, err error) {
	ctx := context.Background()
	names := s.kept.gone(s.dir)
	for _, name := range names {
		to := filepath.Join(s.dir, name+rescued)
		copyTo := s.core.index.CopyTo
		if name == datadir.Exposures {
			err, copyTo = errors.Join(err, s.exposure.Flush(ctx)), s.exposure.CopyTo
		}
		err = errors.Join(err, copyTo(ctx, to))
	}
	return func() error {
		for _, name := range names {
			path := filepath.Join(s.dir, name)
			if _, err := os.Lstat(path); err == nil {
				s.core.log.Error("another file has taken the place of one that was removed: the copy of the removed one is beside it", "file", path, "copy", path+rescued)
				continue
			}
			if err := errors.Join(sqlite.Remove(path), os.Rename(path+rescued, path)); err != nil {
				return err
			}
			s.core.log.Error("a file that was removed while the service ran has been written again", "file", path)
		}
		return nil
	}, err
}
