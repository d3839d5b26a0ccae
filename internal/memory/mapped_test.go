//go:build linux && !race

package memory

import (
	"fmt"
	"os"
	"runtime"
	"testing"
	"time"

	"jianguo/internal/testbed"
)

// mappedBytes is how much memory the process has addresses for.
func mappedBytes(t *testing.T) int64 {
	t.Helper()
	raw, err := os.ReadFile("/proc/self/statm")
	testbed.OK(t, err)
	var pages int64
	if _, err := fmt.Sscan(string(raw), &pages); err != nil {
		t.Fatal(err)
	}
	return pages * int64(os.Getpagesize())
}

// TestBlocksGoWithTheirOwner: a block is freed after its owner is unreachable, and not
// earlier.
func TestBlocksGoWithTheirOwner(t *testing.T) {
	const size, blocks = 1 << 20, 256
	type owner struct{ bytes []byte }
	owners := make([]*owner, blocks)
	for i := range owners {
		owners[i] = new(owner)
		owners[i].bytes = SliceFor[byte](owners[i], size)
		owners[i].bytes[size-1] = byte(i)
	}
	runtime.GC()
	runtime.GC()
	for i, o := range owners {
		if o.bytes[0] != 0 || o.bytes[size-1] != byte(i) {
			t.Fatalf("block %d has changed", i)
		}
	}
	before := mappedBytes(t)
	runtime.KeepAlive(owners)
	clear(owners)
	for end := time.Now().Add(time.Minute); mappedBytes(t) > before-blocks*size/2; {
		if time.Now().After(end) {
			t.Fatalf("%d bytes are mapped, %d while %d blocks of %d bytes had owners", mappedBytes(t), before, blocks, size)
		}
		runtime.GC()
	}
}

// TestOutOfMappings: a mapping that the system refuses is an error.
func TestOutOfMappings(t *testing.T) {
	if b, err := mapped(1 << 62); err == nil {
		t.Errorf("there are %d bytes", len(b))
	}
}
