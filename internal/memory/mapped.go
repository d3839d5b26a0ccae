//go:build unix && !race

package memory

import (
	"os"
	"unsafe"

	"golang.org/x/sys/unix"
)

// mappedFrom is the size from which on blocks are mapped: the system maps whole pages.
const mappedFrom = 16 << 10

// New returns a block of so many bytes.
func New(size int) Block {
	if size >= mappedFrom {
		if b, err := mapped(roundUp(size)); err == nil {
			return Block{b[:size], true}
		}
		// Out of mappings or memory: the heap reports it, if it is out of memory too.
	}
	return Block{make([]byte, size), false}
}

func mapped(size int) ([]byte, error) {
	p, err := unix.MmapPtr(-1, 0, nil, uintptr(size), unix.PROT_READ|unix.PROT_WRITE, unix.MAP_ANON|unix.MAP_PRIVATE)
	if err != nil {
		return nil, err
	}
	return unsafe.Slice((*byte)(p), size), nil
}

// Release frees the block. Nothing may read it any more.
func (b Block) Release() {
	if b.mapped {
		if err := unix.MunmapPtr(unsafe.Pointer(unsafe.SliceData(b.Bytes)), uintptr(roundUp(len(b.Bytes)))); err != nil {
			panic("memory: unmap a block of our own: " + err.Error())
		}
	}
}

var pageBytes = os.Getpagesize()

func roundUp(size int) int { return (size + pageBytes - 1) &^ (pageBytes - 1) }
