// Package prefetch asks the processor to load memory into its cache before the
// memory is read. A look-up that reads many places of a large memory waits for each
// of them; asked for ahead of time, they are loaded while other work is done.
//
// To ask is a hint: it changes nothing, cannot fail, and accepts any address. On
// processors other than amd64 and arm64, and with the build tag purego, it does
// nothing.
package prefetch

import "unsafe"

const line = 64 // bytes of a cache line

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
