package memory

import (
	"bytes"
	"math/rand/v2"
	"sync"
	"testing"
)

// TestBlocks: small and large, a block is zero, as long as was asked for, and
// can be written from end to end.
func TestBlocks(t *testing.T) {
	for _, size := range []int{0, 1, 4096, 16 << 10, 1 << 20, 1<<20 + 1, 4 << 20, 4<<20 + 1} {
		b := New(size)
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

// TestBlocksApart: blocks that several goroutines allocate and release do not overlap.
func TestBlocksApart(t *testing.T) {
	var all sync.WaitGroup
	for mark := byte(1); mark <= 4; mark++ {
		all.Go(func() {
			r := rand.New(rand.NewPCG(1, uint64(mark)))
			var held []Block
			for range 200 {
				if len(held) == 20 {
					i := r.IntN(len(held))
					if b := held[i].Bytes; bytes.Count(b, []byte{mark}) != len(b) {
						t.Errorf("a block of %d bytes is not as it was written", len(b))
					}
					held[i].Release()
					held = append(held[:i], held[i+1:]...)
				}
				b := New(1 + r.IntN(1<<(10+r.IntN(12))))
				for i, c := range b.Bytes {
					if c != 0 {
						t.Errorf("byte %d of %d is %d", i, len(b.Bytes), c)
						return
					}
					b.Bytes[i] = mark
				}
				held = append(held, b)
			}
			for _, b := range held {
				b.Release()
			}
		})
	}
	all.Wait()
}
