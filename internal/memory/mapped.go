//go:build unix && !race

package memory

import (
	"os"
	"unsafe"

	"golang.org/x/sys/unix"
)

// mappedFrom is the size from which on blocks are mapped: the system maps whole pages.
const mappedFrom = 16 << 10

// allocate returns a block of so many bytes. release, unless nil, frees it, and is due once
// nothing reads the block any more.
func allocate(size int) (block []byte, release func([]byte)) {
	if size >= mappedFrom {
		if b, err := mapped(roundUp(size)); err == nil {
			return b[:size], unmap
		}
		// Out of mappings or memory: the heap reports it, if it is out of memory too.
	}
	return make([]byte, size), nil
}

func mapped(size int) ([]byte, error) {
	const protection, flags = unix.PROT_READ | unix.PROT_WRITE, unix.MAP_ANON | unix.MAP_PRIVATE
	p, err := unix.MmapPtr(-1, 0, nil, uintptr(size), protection, flags)
	if err != nil {
		return nil, err
	}
	return unsafe.Slice((*byte)(p), size), nil
}

func unmap(block []byte) {
	p := unsafe.Pointer(unsafe.SliceData(block))
	if err := unix.MunmapPtr(p, uintptr(roundUp(len(block)))); err != nil {
		panic("memory: unmap a block of our own: " + err.Error())
	}
}

var pageBytes = os.Getpagesize()

func roundUp(size int) int { return (size + pageBytes - 1) &^ (pageBytes - 1) }
