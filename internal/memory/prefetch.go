package memory

import "unsafe"

const line = 64 // bytes of a cache line

// Prefetch asks for the cache lines of a slice.
func Prefetch[T any](s []T) {
	if n := uintptr(len(s)) * unsafe.Sizeof(*new(T)); n > 0 {
		ask(unsafe.Pointer(unsafe.SliceData(s)), n)
	}
}

// PrefetchValue asks for the cache lines of a value.
func PrefetchValue[T any](p *T) { ask(unsafe.Pointer(p), unsafe.Sizeof(*p)) }

func ask(p unsafe.Pointer, n uintptr) {
	first, last := uintptr(p)/line, (uintptr(p)+n-1)/line
	lines(p, last-first+1)
}
