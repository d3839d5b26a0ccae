// Package powercut shows tests what a disk keeps of a directory when the power
// goes: each file as it was when last synced, and nothing written since. It
// runs a command under a seccomp filter that reports every fsync, rename and
// removal before it happens (Linux on amd64), so that tests run the real binary,
// with all of its libraries.
//
// Names are taken to be durable at once, contents never are. What is written to
// a file that was opened with O_SYNC is durable as it is written.
package powercut

// Fault is what becomes of a sync.
type Fault int

const (
	// None: it succeeds.
	None Fault = iota
	// Once is an EIO. Nothing is kept this time.
	Once
	// ForGood is an EIO after which nothing of the file is kept any more, though syncs
	// succeed: the system considers pages written that the disk refused once, so they
	// are lost unless the program writes them again.
	ForGood
)
