// Package memory is for data that is too large for what the runtime does by itself.
//
// SliceFor allocates outside of the garbage collector's heap where that is possible: the
// collector lets a program grow to twice the memory that it counts as live. Under the
// race detector, and on systems without mappings, blocks lie on the heap.
//
// Prefetch asks the processor to load memory into its cache before the memory is read.
// A look-up that reads many places of a large memory waits for each of them; asked for
// ahead of time, they are loaded while other work is done. It is a hint: it changes
// nothing, cannot fail, and accepts any address. On processors other than amd64 and
// arm64, and with the build tag purego, it does nothing.
package memory

import (
	"runtime"
	"unsafe"
)

// SliceFor returns a slice of n elements, which must not hold pointers. Its memory is
// released some time after owner is unreachable. The slice does not keep owner
// alive: a function that uses it does (runtime.KeepAlive).
func SliceFor[T, O any](owner *O, n int) []T {
	block, release := allocate(n * int(unsafe.Sizeof(*new(T))))
	if release != nil {
		runtime.AddCleanup(owner, release, block)
	}
	return unsafe.Slice((*T)(unsafe.Pointer(unsafe.SliceData(block))), n)
}
