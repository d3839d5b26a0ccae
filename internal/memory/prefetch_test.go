package memory

import (
	"testing"
	"unsafe"
)

// TestPrefetch: asking changes nothing, and no address is wrong, not even an unmapped
// one.
func TestPrefetch(t *testing.T) {
	s := make([]uint32, 1000)
	for i := range s {
		s[i] = uint32(i)
	}
	Prefetch(s)
	Prefetch(s[17:18])
	Prefetch(s[:0])
	Prefetch[uint64](nil)
	Prefetch(make([]struct{}, 5))
	PrefetchValue(&s[999])
	PrefetchValue(new(struct{}))
	lines(unsafe.Pointer(unsafe.SliceData(s)), 10_000) // far beyond the end
	for i := range s {
		if s[i] != uint32(i) {
			t.Fatalf("element %d became %d", i, s[i])
		}
	}
}
