//go:build (amd64 || arm64) && !purego

package memory

import "unsafe"

// lines asks for n cache lines, 1 or more: that of p and those after it.
//
//go:noescape
func lines(p unsafe.Pointer, n uintptr)
