package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"
)

// lockName is the file that keeps a second process out of a data directory.
const lockName = "LOCK"

// holder is what the process that holds a data directory says of itself.
type holder struct {
	PID     int    `json:"pid"`
	Command string `json:"command"`
	NATS    string `json:"nats,omitempty"`  // where it can be reached
	Token   string `json:"token,omitempty"` // and with what: whoever reads this may read everything here
	HTTP    string `json:"http,omitempty"`
}

// lockedError says who holds a data directory.
type lockedError struct {
	dir    string
	holder holder
}

func (e *lockedError) Error() string {
	s := fmt.Sprintf("the data directory %s is in use by process %d (jianguo %s)", e.dir, e.holder.PID, e.holder.Command)
	if e.holder.NATS != "" {
		s += fmt.Sprintf("; stop it first, or reach it with --nats %s", e.holder.NATS)
	}
	return s
}

// dirLock is held as long as its file is open; the kernel releases it when the
// process ends, however it ends.
type dirLock struct{ file *os.File }

// lockDir takes a data directory, making it if need be.
func lockDir(dir string, h holder) (*dirLock, error) { return lockFile(dir, lockName, h) }

// lockFile takes one file of a data directory, which stands for a part of what
// may be done there.
func lockFile(dir, name string, h holder) (*dirLock, error) {
	if dir == "" {
		return nil, errors.New("data directory: --data is empty")
	}
	if err := os.MkdirAll(dir, 0o750); err != nil {
		return nil, fmt.Errorf("data directory: %w", err)
	}
	f, err := os.OpenFile(filepath.Join(dir, name), os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, fmt.Errorf("data directory: %w", err)
	}
	if err := unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB); err != nil {
		defer f.Close()
		if !errors.Is(err, unix.EWOULDBLOCK) {
			return nil, fmt.Errorf("data directory %s: lock: %w", dir, err)
		}
		locked := &lockedError{dir: dir}
		// A holder that has not written yet leaves the fields empty.
		_ = json.NewDecoder(f).Decode(&locked.holder)
		return nil, locked
	}
	if err := f.Chmod(0o600); err != nil {
		return nil, errors.Join(fmt.Errorf("data directory: %w", err), f.Close())
	}
	l := &dirLock{file: f}
	h.PID = os.Getpid()
	if err := l.announce(h); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return l, nil
}

// announce writes who holds the directory and where it can be reached.
func (l *dirLock) announce(h holder) error {
	data, err := json.Marshal(h)
	if err != nil {
		return err
	}
	if err := l.file.Truncate(0); err != nil {
		return fmt.Errorf("data directory: %w", err)
	}
	if _, err := l.file.WriteAt(data, 0); err != nil {
		return fmt.Errorf("data directory: %w", err)
	}
	return nil
}

func (l *dirLock) Close() error { return l.file.Close() }
