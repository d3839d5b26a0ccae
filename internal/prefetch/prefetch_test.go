package prefetch

import (
	"testing"
	"unsafe"
)

// TestHint: asking changes nothing, and no address is wrong, not even an unmapped
// one.
func TestHint(t *testing.T) {
	s := make([]uint32, 1000)
	for i := range s {
		s[i] = uint32(i)
	}
	Slice(s)
	Slice(s[17:18])
	Slice(s[:0])
	Slice[uint64](nil)
	Slice(make([]struct{}, 5))
	Value(&s[999])
	Value(new(struct{}))
	lines(unsafe.Pointer(unsafe.SliceData(s)), 10_000) // far beyond the end
	for i := range s {
		if s[i] != uint32(i) {
			t.Fatalf("element %d became %d", i, s[i])
		}
	}
}
