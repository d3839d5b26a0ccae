//go:build unix && !race

package offheap

import (
	"os"
	"sync"
	"unsafe"

	"golang.org/x/sys/unix"
)

const (
	// mappedFrom is the size from which on blocks are mapped: the system maps whole pages.
	mappedFrom = 16 << 10
	// Blocks up to largestCut are cut from regions: mapping each by itself serialises
	// the threads that load a snapshot.
	largestCut  = 4 << 20
	regionBytes = 16 * largestCut
)

// region is the unused rest of the last region: addresses, no memory.
var region struct {
	sync.Mutex
	rest []byte // guarded by Mutex
}

func newBlock(size int) Block {
	if size >= mappedFrom {
		if b, err := pages(roundUp(size)); err == nil {
			return Block{b[:size], true}
		}
		// Out of mappings or memory: the heap reports it, if it is out of memory too.
	}
	return Block{make([]byte, size), false}
}

// pages returns zeroed memory of whole pages.
func pages(size int) ([]byte, error) {
	if size > largestCut {
		return mapped(size)
	}
	region.Lock()
	defer region.Unlock()
	if size > len(region.rest) {
		next, err := mapped(regionBytes)
		if err != nil {
			return nil, err
		}
		_ = unmap(region.rest) // if it fails, addresses stay reserved, which costs nothing
		region.rest = next
	}
	b := region.rest[:size:size]
	region.rest = region.rest[size:]
	return b, nil
}

func mapped(size int) ([]byte, error) {
	p, err := unix.MmapPtr(-1, 0, nil, uintptr(size), unix.PROT_READ|unix.PROT_WRITE, unix.MAP_ANON|unix.MAP_PRIVATE)
	if err != nil {
		return nil, err
	}
	return unsafe.Slice((*byte)(p), size), nil
}

func (b Block) release() {
	if b.mapped {
		if err := unmap(b.Bytes[:roundUp(len(b.Bytes))]); err != nil {
			panic("offheap: unmap a block of our own: " + err.Error())
		}
	}
}

// unmap releases whole pages, which may be a part of a mapping.
func unmap(b []byte) error {
	if len(b) == 0 {
		return nil
	}
	return unix.MunmapPtr(unsafe.Pointer(unsafe.SliceData(b)), uintptr(len(b)))
}

var pageBytes = os.Getpagesize()

func roundUp(size int) int { return (size + pageBytes - 1) &^ (pageBytes - 1) }
