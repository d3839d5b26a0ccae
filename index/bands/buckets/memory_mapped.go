//go:build unix && !race

package buckets

import "syscall"

// Blocks below this stay on the heap: a mapping is whole system pages.
const mappedFrom = 16 << 10

func newBlock(size int) block {
	if size >= mappedFrom {
		b, err := syscall.Mmap(-1, 0, size, syscall.PROT_READ|syscall.PROT_WRITE, syscall.MAP_ANON|syscall.MAP_PRIVATE|populate)
		if err == nil {
			return block{b, true}
		}
		// Out of mappings or memory: the heap's own failure says it best.
	}
	return block{make([]byte, size), false}
}

func (b block) release() {
	if b.mapped {
		if err := syscall.Munmap(b.bytes); err != nil {
			panic("buckets: unmap a block of our own: " + err.Error())
		}
	}
}
