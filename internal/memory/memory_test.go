package memory

import "testing"

// TestBlocks: small and large, a block is zero, as long as was asked for, and
// can be written from end to end.
func TestBlocks(t *testing.T) {
	for _, size := range []int{0, 1, 4096, 16 << 10, 1 << 20, 1<<20 + 1, 4 << 20, 4<<20 + 1} {
		b, release := allocate(size)
		if len(b) != size {
			t.Fatalf("%d bytes, want %d", len(b), size)
		}
		for i, c := range b {
			if c != 0 {
				t.Fatalf("byte %d of %d is %d", i, size, c)
			}
			b[i] = byte(i)
		}
		if release != nil {
			release(b)
		}
	}
}
