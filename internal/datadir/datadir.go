// Package datadir locks a data directory: one process at a time works in it. The
// lock file names the process that holds the directory and how to reach it.
package datadir

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"
)

// LockName is the file that keeps a second process out of a data directory.
const LockName = "LOCK"

// Holder describes the process that holds a data directory.
type Holder struct {
	PID     int    `json:"pid"`
	Command string `json:"command"`
	NATS    string `json:"nats,omitempty"` // URL of its bus
	// StreamPrefix begins the names of its streams there.
	StreamPrefix string `json:"stream_prefix,omitempty"`
	Token        string `json:"token,omitempty"` // for that bus; the file is readable by its owner only
	HTTP         string `json:"http,omitempty"`
}

// InUseError means that another process holds the data directory.
type InUseError struct {
	Dir    string
	Holder Holder
}

func (e *InUseError) Error() string {
	s := fmt.Sprintf("the data directory %s is in use by process %d (jianguo %s)", e.Dir, e.Holder.PID, e.Holder.Command)
	if e.Holder.NATS != "" {
		s += fmt.Sprintf("; stop it first, or reach it with --nats %s", e.Holder.NATS)
	}
	return s
}

// Lock is held until Close. The kernel releases it when the process ends, even
// after a kill.
type Lock struct{ file *os.File }

// Acquire locks a data directory and creates it if it is missing. The error is an
// InUseError if another process holds it.
func Acquire(dir string, h Holder) (*Lock, error) { return AcquireFile(dir, LockName, h) }

// AcquireFile locks one file of a data directory. Each file stands for a part of
// the work in that directory.
func AcquireFile(dir, name string, h Holder) (*Lock, error) {
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
		inUse := &InUseError{Dir: dir}
		// A holder that has not written yet leaves the fields empty.
		_ = json.NewDecoder(f).Decode(&inUse.Holder)
		return nil, inUse
	}
	if err := f.Chmod(0o600); err != nil {
		return nil, errors.Join(fmt.Errorf("data directory: %w", err), f.Close())
	}
	l := &Lock{file: f}
	h.PID = os.Getpid()
	if err := l.Announce(h); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return l, nil
}

// Announce writes which process holds the directory and how to reach it.
func (l *Lock) Announce(h Holder) error {
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

// Close releases the directory.
func (l *Lock) Close() error { return l.file.Close() }

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
