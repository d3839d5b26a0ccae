package wire

import (
	"slices"

	"github.com/zeebo/xxh3"
)

// Key is the one key an id has for a user: the low half of XXH3-64 under the user's seed.
func Key(id []byte, seed uint64) uint32 { return nonZero(xxh3.HashSeed(id, seed)) }

// nonZero is the low half of a hash. Zero marks an empty cell in kernel.Set, so the id that
// hashes to it shares the key 1.
func nonZero(hash uint64) uint32 {
	k := uint32(hash)
	if k == 0 {
		k = 1
	}
	return k
}

// Keys returns the keys of all ids, in the memory of dst if it has room.
func (q *Query) Keys(dst []uint32, seed uint64) []uint32 {
	keys := slices.Grow(dst[:0], len(q.spans))[:len(q.spans)]
	for i := hashVector(q.spans, q.body, keys, seed); i < len(keys); i++ {
		keys[i] = Key(q.ID(i), seed)
		if i%8 == 7 {
			i += hashVector(q.spans[i+1:], q.body, keys[i+1:], seed)
		}
	}
	return keys
}
