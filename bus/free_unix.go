//go:build linux || darwin

package bus

import "syscall"

// freeBytes is what an ordinary process may still write to the disk of a
// directory.
func freeBytes(dir string) (free uint64, ok bool) {
	var s syscall.Statfs_t
	if err := syscall.Statfs(dir, &s); err != nil {
		return 0, false
	}
	return s.Bavail * uint64(s.Bsize), true
}
