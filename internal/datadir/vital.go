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

	"jianguo/internal/clock"
	"jianguo/internal/sqlite"
)

// Vital are the files of a running service that nothing can replace.
type Vital struct {
	dir   string
	log   *slog.Logger
	files map[string]fs.FileInfo // when they were opened, by name
}

// OpenVital remembers the files of a directory, which are open.
func OpenVital(dir string, log *slog.Logger) (Vital, error) {
	k := Vital{dir, log, map[string]fs.FileInfo{}}
	for _, name := range []string{Catalogue, Exposures} {
		info, err := os.Stat(filepath.Join(dir, name))
		if err != nil {
			return Vital{}, fmt.Errorf("data directory: %w", err)
		}
		k.files[name] = info
	}
	return k, nil
}

// look returns what a file is now, nil if that is unknown, and whether it was removed or replaced.
func (k *Vital) look(name string) (info fs.FileInfo, gone bool) {
	info, err := os.Stat(filepath.Join(k.dir, name))
	return info, errors.Is(err, fs.ErrNotExist) || err == nil && !os.SameFile(k.files[name], info)
}

// Watch ends the service when a file is removed or cut short: what it wrote would be lost.
func (k *Vital) Watch(ctx context.Context) error {
	for clock.Sleep(ctx, time.Second) == nil {
		for name, was := range k.files {
			switch info, gone := k.look(name); {
			case gone:
				return fmt.Errorf("data directory %s: %s was removed or replaced while the service ran", k.dir, name)
			case info == nil:
			case info.Size() < was.Size(): // SQLite never shortens a file that is in use
				return fmt.Errorf("data directory %s: %s was cut short while the service ran: put a backup of the "+
					"directory in its place", k.dir, name)
			default:
				k.files[name] = info
			}
		}
	}
	return nil
}

// rescuedSuffix ends the name of a copy of a file that was removed.
const rescuedSuffix = ".rescued"

// Rescue copies the files that were removed, which are still open, and returns a function
// that puts the copies in their place once all are closed. Where there is another file by
// now, the copy stays beside it.
func (k *Vital) Rescue(copies map[string]func(to string) error) (settle func() error, err error) {
	var names []string
	for name := range k.files {
		if _, gone := k.look(name); gone {
			names = append(names, name)
			err = errors.Join(err, copies[name](filepath.Join(k.dir, name+rescuedSuffix)))
		}
	}
	return func() error {
		for _, name := range names {
			path := filepath.Join(k.dir, name)
			if _, err := os.Lstat(path); err == nil {
				k.log.Error("another file has taken the place of one that was removed: the copy of the removed one "+
					"is beside it", "file", path, "copy", path+rescuedSuffix)
				continue
			}
			if err := errors.Join(sqlite.Remove(path), os.Rename(path+rescuedSuffix, path)); err != nil {
				return err
			}
			k.log.Error("a file that was removed while the service ran has been written again", "file", path)
		}
		return nil
	}, err
}
