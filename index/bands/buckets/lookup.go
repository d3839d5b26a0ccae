package buckets

import "slices"

// A narrow table is also a look-up of 64-bit hashes: of an id to its versions, of a normal form to the
// texts that have it.
//
// Hashes collide and ids have versions, so a key may have several values; the caller checks
// each against the catalogue. Keys must be well spread (a hash such as xxh3). They are known
// by their upper 48 bits: among a hundred million ids one look-up in three million meets
// another id. 9.8 bytes an entry at 10 million.

// Put adds value under key, beside those already there. Putting the pair again adds
// nothing. It panics beyond MaxOrdinal. Writer only.
func (t *Table) Put(key uint64, value uint32) {
	for v := range t.find(key) {
		if v == value {
			return
		}
	}
	t.Append(key, value)
}

// Get appends to dst the values under key, each once, highest first.
func (t *Table) Get(dst []uint32, key uint64) []uint32 {
	n := len(dst)
	for v := range t.find(key) {
		dst = append(dst, v)
	}
	if found := dst[n:]; len(found) > 1 {
		slices.Sort(found)
		slices.Reverse(found)
		dst = dst[:n+len(slices.Compact(found))]
	}
	return dst
}
