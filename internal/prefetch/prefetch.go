// Package prefetch asks for memory some time before it is read. A look-up that
// visits places all over a large memory spends most of its time on waiting for
// them, one after another; asked for beforehand, they come while something else
// is worked on. To ask is a hint: it changes nothing, cannot fail, and where the
// processor knows no such instruction here it does nothing.
package prefetch

import "unsafe"

const line = 64 // bytes

// Slice asks for the cache lines of a slice.
func Slice[T any](s []T) {
	if n := uintptr(len(s)) * unsafe.Sizeof(*new(T)); n > 0 {
		bytes(unsafe.Pointer(unsafe.SliceData(s)), n)
	}
}

// Value asks for the cache lines of a value.
func Value[T any](p *T) { bytes(unsafe.Pointer(p), unsafe.Sizeof(*p)) }

func bytes(p unsafe.Pointer, n uintptr) {
	first, last := uintptr(p)/line, (uintptr(p)+n-1)/line
	lines(p, last-first+1)
}
