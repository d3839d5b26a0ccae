package datadir

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"time"

	"jianguo/internal/sqlite"
	"jianguo/internal/wait"
)

// Kept are the files of a running service that nothing can replace.
type Kept struct {
	dir  string
	log  *slog.Logger
	were map[string]fs.FileInfo // when they were opened, by name
}

// OpenKept remembers the files of a directory, which are open.
func OpenKept(dir string, log *slog.Logger) (Kept, error) {
	k := Kept{dir, log, map[string]fs.FileInfo{}}
	for _, name := range []string{Catalogue, Exposures} {
		info, err := os.Stat(filepath.Join(dir, name))
		if err != nil {
			return Kept{}, fmt.Errorf("data directory: %w", err)
		}
		k.were[name] = info
	}
	return k, nil
}

// Errors that end a service.
var (
	ErrFileGone = errors.New("was removed or replaced while the service ran")
	ErrFileCut  = errors.New("was cut short while the service ran: put a backup of the directory in its place")
)

// gone returns the names of files that were removed or replaced.
func (k *Kept) gone() (names []string) {
	for name, was := range k.were {
		if info, err := os.Stat(filepath.Join(k.dir, name)); errors.Is(err,
			fs.ErrNotExist) || err == nil && !os.SameFile(was, info) {
			names = append(names, name)
		}
	}
	return names
}

// cut returns the name of a file that has become shorter, "" if none has: SQLite never
// shortens a file that is in use.
func (k *Kept) cut() string {
	for name, was := range k.were {
		if info, err := os.Stat(filepath.Join(k.dir, name)); err == nil {
			if info.Size() < was.Size() {
				return name
			}
			k.were[name] = info
		}
	}
	return ""
}

// Watch ends the service when a file is removed or cut short: what it wrote would be lost.
func (k *Kept) Watch(ctx context.Context) error {
	for wait.For(ctx, time.Second) == nil {
		if names := k.gone(); len(names) > 0 {
			return fmt.Errorf("data directory %s: %s %w", k.dir, names[0], ErrFileGone)
		}
		if name := k.cut(); name != "" {
			return fmt.Errorf("data directory %s: %s %w", k.dir, name, ErrFileCut)
		}
	}
	return nil
}

// rescued ends the name of a copy of a file that was removed.
const rescued = ".rescued"

// Rescue copies the files that were removed, which are still open, and returns a function
// that puts the copies in their place once all are closed. Where there is another file by
// now, the copy stays beside it.
func (k *Kept) Rescue(copies map[string]func(to string) error) (settle func() error, err error) {
	names := k.gone()
	for _, name := range names {
		err = errors.Join(err, copies[name](filepath.Join(k.dir, name+rescued)))
	}
	return func() error {
		for _, name := range names {
			path := filepath.Join(k.dir, name)
			if _, err := os.Lstat(path); err == nil {
				k.log.Error("another file has taken the place of one that was removed: the copy of the removed one "+
					"is beside it", "file", path, "copy", path+rescued)
				continue
			}
			if err := errors.Join(sqlite.Remove(path), os.Rename(path+rescued, path)); err != nil {
				return err
			}
			k.log.Error("a file that was removed while the service ran has been written again", "file", path)
		}
		return nil
	}, err
}
