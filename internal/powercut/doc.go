// Package powercut shows tests what a disk keeps of a directory when the power
// goes: each file as it was when last synced, and nothing written since. It
// runs a command under a seccomp filter that reports every fsync, rename and
// removal before it happens (Linux on amd64), so that tests run the real binary,
// with all of its libraries.
//
// Names are taken to be durable at once, contents never are. What is written to
// a file that was opened with O_SYNC is durable as it is written.
package powercut

import (
	"syscall"
	"time"
)

// Op is what a call does to a file.
type Op int

const (
	Sync   Op = iota
	Read      // pread
	Write     // pwrite, or a change of the size
	Open      // for writing
	Create    // open for writing, and create if missing
	Change    // rename or remove
)

// Fault is what becomes of a call. The zero value lets it happen.
type Fault struct {
	Err   syscall.Errno // 0: it succeeds; of a sync that fails nothing is kept this time
	Delay time.Duration // before it happens
	// Lost: from this sync on nothing of the file is kept, though syncs succeed. After an
	// error that is what disks do: the system considers pages written that the disk
	// refused once, so they are lost unless the program writes them again. Without an
	// error it is a sync that was left out.
	Lost bool
}
