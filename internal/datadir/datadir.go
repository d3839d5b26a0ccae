// Package datadir locks a data directory: one process at a time works in it. The file LOCK
// names the process that holds the directory and how to reach it. The
// manifest names the files that belong to the directory.
package datadir

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"

	"jianguo/internal/must"
	"jianguo/internal/wrap"
)

// LockName is the file that names the process that holds a data directory.
const LockName = "LOCK"

// Holder describes the process that holds a data directory.
type Holder struct {
	PID     int    `json:"pid"`
	Command string `json:"command"`
	Name    string `json:"name,omitempty"` // of this run of it, on its bus
	NATS    string `json:"nats,omitempty"` // URL of its bus
	// StreamPrefix begins the names of its streams there.
	StreamPrefix string `json:"stream_prefix,omitempty"`
	Token        string `json:"token,omitempty"` // for that bus; the file is readable by its owner only
	HTTP         string `json:"http,omitempty"`
	Shared       bool   `json:"shared,omitempty"` // users' histories are in a Redis
	Pin          string `json:"pin,omitempty"`    // SHA-256 of the certificate of that bus; empty: no TLS
}

// InUseError means that another process holds the data directory.
type InUseError struct {
	Dir    string
	Holder Holder
}

func (e *InUseError) Error() string {
	if e.Holder.PID == 0 {
		return fmt.Sprintf("the data directory %s is in use by another process, which its file %s does not name",
			e.Dir, LockName)
	}
	s := fmt.Sprintf("the data directory %s is in use by process %d (jianguo %s)",
		e.Dir, e.Holder.PID, e.Holder.Command)
	return s + "; stop it first"
}

// Lock is held until Close. The kernel releases it when the process ends, even
// after a kill.
type Lock struct {
	root   *os.Root
	dir    *os.File // the same, which is locked: a file in it may be removed
	owner  Owner
	before []byte // what the lock file held, which a command that is no service puts back; nil: it stays
}

// ErrIdle says that no service runs on a directory.
var ErrIdle = errors.New("no service runs")

// Acquire locks a data directory, creates it if it is missing, and checks that its files are
// there. The error is an InUseError if another process holds it.
func Acquire(dir string, h Holder) (*Lock, error) {
	l, err := AcquireUnchecked(dir, h)
	if err != nil {
		return nil, err
	}
	if err := Check(dir); err != nil {
		return nil, errors.Join(err, l.Close())
	}
	return l, nil
}

// AcquireUnchecked is Acquire without the check.
func AcquireUnchecked(dir string, h Holder) (*Lock, error) {
	err := makeDir(dir)
	l := new(Lock)
	if err == nil {
		l.root, err = os.OpenRoot(dir)
	}
	if err != nil {
		return nil, wrap.Err(err, "data directory")
	}
	err = must.Catch(func() {
		l.dir = must.Get(l.root.Open("."))
		must.Do(lock(l.dir, dir))
		l.owner = must.Get(OwnerOf(dir))
		must.Do(checkAccess(dir))
		if h.Command != "serve" {
			before, _ := l.root.ReadFile(LockName) // there may be none
			l.before = append([]byte{}, before...)
		}
		h.PID = os.Getpid()
		must.Do(l.Announce(h))
	})
	if err == nil {
		return l, nil
	}
	if inUse, ok := errors.AsType[*InUseError](err); ok { // a holder that has not written yet leaves the fields empty
		inUse.Holder, _ = ReadHolder(dir)
	}
	return nil, errors.Join(err, l.Close())
}

// makeDir creates a directory. One that other users may read is closed to them, if it is ours.
func makeDir(dir string) error {
	if dir == "" {
		return errors.New("--data is empty")
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	if info, err := os.Stat(dir); err == nil && info.Mode().Perm()&0o077 != 0 {
		_ = os.Chmod(dir, info.Mode().Perm()&^0o077) // on a read-only disk it stays as it is
	}
	return nil
}

// lock locks an open file. An error other than an InUseError names the directory.
func lock(f *os.File, dir string) error {
	err := unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB)
	if errors.Is(err, unix.EWOULDBLOCK) {
		return &InUseError{Dir: dir}
	}
	return wrap.Err(err, "data directory %s: lock", dir)
}

// Announce writes which process holds the directory and how to reach it.
func (l *Lock) Announce(h Holder) error {
	data, _ := json.Marshal(h) // strings and a number: no error
	return l.write(data)
}

func (l *Lock) write(data []byte) error {
	err := l.root.WriteFile(LockName, data, 0o600)
	return wrap.Err(cmp.Or(err, l.root.Chmod(LockName, 0o600)), "data directory")
}

// Close releases the directory. What root has made in it belongs to its owner then.
func (l *Lock) Close() (err error) {
	switch {
	case len(l.before) > 0:
		err = l.write(l.before)
	case l.before != nil:
		err = l.root.Remove(LockName)
	}
	return errors.Join(err, l.owner.Give(l.root.Name()), l.dir.Close(), l.root.Close())
}

// PinOf is the hash of a certificate, which Holder.Pin has.
func PinOf(certificate []byte) string {
	sum := sha256.Sum256(certificate)
	return hex.EncodeToString(sum[:])
}

// ReadHolder returns the holder that the lock file of a directory names. The
// process may have ended since.
func ReadHolder(dir string) (Holder, error) {
	var h Holder
	raw, err := os.ReadFile(filepath.Join(dir, LockName))
	if err == nil {
		err = json.Unmarshal(raw, &h)
	}
	return h, err
}

// Running returns the holder of a directory that a service runs on.
func Running(dir string) (h Holder, err error) {
	d, err := os.Open(dir)
	if err != nil {
		return h, fmt.Errorf("data directory: %w", err)
	}
	defer d.Close()
	if lock(d, dir) == nil {
		return h, fmt.Errorf("%w on the data directory %s: start it first, jianguo serve --data %s", ErrIdle, dir, dir)
	}
	if h, err = ReadHolder(dir); err == nil && h.NATS == "" {
		err = &InUseError{dir, h}
	}
	return h, err
}
