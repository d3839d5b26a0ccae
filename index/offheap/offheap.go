// Package offheap gets memory from the system, past the garbage collector where
// that is possible: what the collector counts as live it lets grow to twice the
// size before it looks. Under the race detector blocks live on the heap, where it
// watches them.
package offheap

import "runtime"

// Block is memory. It is zero when it is new.
type Block struct {
	Bytes  []byte
	mapped bool
}

// New returns a block whose pages are there at once: it is written all over
// right away, and a fault for each of them costs more than the page.
func New(size int) Block { return newBlock(size) }

// NewFor returns the bytes of a block as New makes it, which goes by itself some
// time after nobody holds owner any more. The bytes do not hold it: who reads
// them keeps owner alive until he has (runtime.KeepAlive).
func NewFor[T any](owner *T, size int) []byte {
	b := New(size)
	if b.mapped {
		runtime.AddCleanup(owner, Block.Release, b)
	}
	return b.Bytes
}

// Release gives the block back. Nobody may read it any more.
func (b Block) Release() { b.release() }
