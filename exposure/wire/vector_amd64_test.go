//go:build !purego

package wire

// eachWay runs f in every way that this build has of finding and hashing ids.
func eachWay(f func(way string)) {
	defer func(have bool) { haveAVX2 = have }(haveAVX2)
	if haveAVX2 {
		f("AVX2")
	}
	haveAVX2 = false
	f("plain")
}
