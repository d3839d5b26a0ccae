//go:build !amd64

package exposure

// eachKind runs f: there is but one kind of these processors.
func eachKind(f func()) { f() }
