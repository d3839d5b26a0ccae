//go:build !race

package offheap

import "golang.org/x/sys/unix"

// populate has the pages made at once. A system that cannot (Linux before 5.14)
// makes each when it is first written, which takes longer.
func populate(b []byte) { _ = unix.Madvise(b, unix.MADV_POPULATE_WRITE) }
