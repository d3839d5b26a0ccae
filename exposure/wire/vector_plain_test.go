//go:build !amd64 || purego

package wire

// eachWay runs f in every way that this build has of finding and hashing ids.
func eachWay(f func(way string)) { f("plain") }
