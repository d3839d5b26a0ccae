//go:build !unix || race

package memory

// New returns a block of so many bytes.
func New(size int) Block { return Block{make([]byte, size), false} }

// Release frees the block. Nothing may read it any more. It overwrites the block, so that the race
// detector reports a look-up that still reads it.
func (b Block) Release() {
	for i := range b.Bytes {
		b.Bytes[i] = 0xa5
	}
}
