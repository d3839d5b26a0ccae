//go:build !unix || race

package buckets

// Under the race detector blocks live on the heap, where it watches them.

func newBlock(size int) block { return block{make([]byte, size), false} }

// release overwrites the block, so that a look-up that still reads it is a
// data race and a wrong answer, not luck.
func (b block) release() {
	for i := range b.bytes {
		b.bytes[i] = 0xa5
	}
}
