//go:build !amd64 || purego

package kernel

// eachWay runs f in every way that this build has of testing keys.
func eachWay(f func(way string)) { f("plain") }
