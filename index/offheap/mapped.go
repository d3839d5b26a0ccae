//go:build unix && !race

package offheap

import "syscall"

// Blocks of this size and more hold a large page or several.
const hugeFrom = 2 << 20

// Blocks below this stay on the heap: a mapping is whole system pages.
const mappedFrom = 16 << 10

func newBlock(size, flags int) Block {
	if size >= mappedFrom {
		b, err := syscall.Mmap(-1, 0, size, syscall.PROT_READ|syscall.PROT_WRITE, syscall.MAP_ANON|syscall.MAP_PRIVATE|flags)
		if err == nil {
			if flags&populate == 0 && size >= hugeFrom {
				adviseHuge(b)
			}
			return Block{b, true}
		}
		// Out of mappings or memory: the heap's own failure says it best.
	}
	return Block{make([]byte, size), false}
}

func (b Block) release() {
	if b.mapped {
		if err := syscall.Munmap(b.Bytes); err != nil {
			panic("offheap: unmap a block of our own: " + err.Error())
		}
	}
}
