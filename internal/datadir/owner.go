package datadir

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/user"
	"path/filepath"
	"regexp"
	"strconv"
	"syscall"

	"golang.org/x/sys/unix"
)

// Owner is the user that the files of a data directory belong to.
type Owner struct{ UID, GID int }

// OwnerOf returns the owner of the catalogue of a directory, or of a directory without one.
func OwnerOf(dir string) (o Owner, err error) {
	info, err := os.Stat(filepath.Join(dir, Catalogue))
	if err != nil {
		info, err = os.Stat(dir)
	}
	if err == nil {
		stat := info.Sys().(*syscall.Stat_t)
		o = Owner{int(stat.Uid), int(stat.Gid)}
	}
	return o, err
}

func (o Owner) String() string {
	if u, err := user.LookupId(strconv.Itoa(o.UID)); err == nil {
		return u.Username
	}
	return fmt.Sprintf("%d:%d", o.UID, o.GID)
}

// Give gives the files that root has made in a directory to its owner. Only root can.
func (o Owner) Give(dir string) error {
	if os.Geteuid() != 0 || o.UID == 0 {
		return nil
	}
	return walk(dir, func(root *os.Root, name string, s *syscall.Stat_t) error {
		if s.Uid != 0 || s.Nlink > 1 && s.Mode&syscall.S_IFMT == syscall.S_IFREG { // a link may lead to a file of root
			return nil
		}
		return root.Lchown(name, o.UID, o.GID)
	})
}

// checkAccess returns an error that names a file of a directory that this process may not use, as the bus and SQLite do
// not.
func checkAccess(dir string) error {
	return walk(dir, func(_ *os.Root, name string, s *syscall.Stat_t) error {
		path := filepath.Join(dir, name)
		err := unix.Access(path, unix.R_OK|unix.W_OK)
		if errors.Is(err, fs.ErrPermission) && int(s.Uid) != os.Geteuid() {
			return fmt.Errorf("data directory: %s belongs to user %v: %w: give it to the user of the directory "+
				"(chown -R)", path, Owner{int(s.Uid), int(s.Gid)}, err)
		}
		return nil
	})
}

// ownFiles are the names in a data directory that this program makes.
var ownFiles = regexp.MustCompile(`^(\.|LOCK|MANIFEST|bus(/.*)?|(index|exposure|snapshot|browse)\.db(-wal|-shm)?)$`)

// walk calls f for each file of ours in a directory, and follows no link.
func walk(dir string, f func(root *os.Root, name string, s *syscall.Stat_t) error) error {
	root, err := os.OpenRoot(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil // it has another name by now
	}
	if err != nil {
		return fmt.Errorf("data directory: %w", err)
	}
	defer root.Close()
	return fs.WalkDir(root.FS(), ".", func(name string, entry fs.DirEntry, err error) error {
		switch {
		case ownFiles.MatchString(name):
		case entry.IsDir():
			return fs.SkipDir
		default:
			return nil
		}
		info, lerr := root.Lstat(name)
		if errors.Is(lerr, fs.ErrNotExist) {
			return nil // removed meanwhile
		}
		if lerr != nil {
			return errors.Join(err, lerr)
		}
		if ferr := f(root, name, info.Sys().(*syscall.Stat_t)); ferr != nil {
			return ferr
		}
		return err
	})
}
