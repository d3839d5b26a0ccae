package offheap

import "testing"

// TestBlocks: small and large, a block is zero, as long as was asked for, and
// can be written from end to end.
func TestBlocks(t *testing.T) {
	for _, make := range []func(int) Block{New, NewLazy} {
		for _, size := range []int{0, 1, 4096, 1 << 20, 1<<20 + 1} {
			b := make(size)
			if len(b.Bytes) != size {
				t.Fatalf("%d bytes, want %d", len(b.Bytes), size)
			}
			for i, c := range b.Bytes {
				if c != 0 {
					t.Fatalf("byte %d of %d is %d", i, size, c)
				}
				b.Bytes[i] = byte(i)
			}
			b.Release()
		}
	}
}
