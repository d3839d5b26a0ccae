// Package health keeps why a part of the service does not work at the moment.
package health

import "sync/atomic"

// Trouble holds the error of the last check of a part, for others to read. The zero value holds none. All methods may
// be called from any goroutine.
type Trouble struct{ err atomic.Pointer[error] }

// Err is the error held, nil for none.
func (t *Trouble) Err() error {
	if err := t.err.Load(); err != nil {
		return *err
	}
	return nil
}

// Set replaces the error; nil: there is none any more.
func (t *Trouble) Set(err error) {
	if err == nil {
		t.err.Store(nil)
	} else {
		t.err.Store(&err)
	}
}

// First sets an error where there is none, and reports whether it has.
func (t *Trouble) First(err error) bool { return t.err.CompareAndSwap(nil, &err) }
