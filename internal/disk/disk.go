// Package disk watches the free space of the disk of a directory, and writes files that are whole after a crash.
package disk

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"
)

// Disk is the disk of a directory, and what must stay free on it.
type Disk struct {
	Dir     string
	Reserve uint64 // bytes
}

// Free returns the bytes that an unprivileged process can use.
func (d Disk) Free() (uint64, error) {
	var s unix.Statfs_t
	if err := unix.Statfs(d.Dir, &s); err != nil {
		return 0, fmt.Errorf("disk: %s: %w", d.Dir, err)
	}
	return s.Bavail * uint64(s.Bsize), nil
}

// HasSpace returns an error while less than the reserve is free.
func (d Disk) HasSpace() error {
	free, err := d.Free()
	if err != nil || free >= d.Reserve {
		return err
	}
	return fmt.Errorf("disk: %d MiB are free where the data directory is, and the reserve is %d MiB: make room",
		free>>20, d.Reserve>>20)
}

// Sync syncs a file or a directory.
func Sync(path string) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	return errors.Join(f.Sync(), f.Close())
}

// Replace writes a file atomically: after a crash it has the former content or this one. For root it keeps its owner.
func Replace(path string, content []byte, mode fs.FileMode) error {
	f, err := os.OpenFile(path+".new", os.O_WRONLY|os.O_CREATE|os.O_TRUNC, mode)
	if err != nil {
		return err
	}
	var old unix.Stat_t
	if unix.Stat(path, &old) == nil {
		_ = f.Chown(int(old.Uid), int(old.Gid)) // fails for others than root
	}
	_, err = f.Write(content)
	if err = errors.Join(err, f.Chmod(mode), f.Sync(), f.Close()); err == nil {
		err = os.Rename(f.Name(), path)
	}
	if err != nil {
		return errors.Join(err, os.Remove(f.Name()))
	}
	return Sync(filepath.Dir(path))
}
