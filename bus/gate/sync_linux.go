package gate

import (
	"os"
	"syscall"
)

// syncData syncs the contents of a file, and of what is known of it only what one
// needs to read them.
func syncData(f *os.File) error {
	for {
		if err := syscall.Fdatasync(int(f.Fd())); err != syscall.EINTR {
			return os.NewSyscallError("fdatasync", err)
		}
	}
}
