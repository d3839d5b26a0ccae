package wire

import (
	"encoding/binary"
	"math/bits"
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
	for i := 0; i < len(keys); {
		i += hashVector(q.spans[i:], q.body, keys[i:], seed)
		for end := min(i+8, len(keys)); i < end; i++ {
			// Most ids have 9 to 16 bytes. These are hashed without a call, so that the
			// multiplications of one overlap with those of the next.
			sp := q.spans[i]
			if n := sp.to - sp.from; n-9 <= 7 && sp.from&isOdd == 0 {
				id := q.body[sp.from:sp.to]
				keys[i] = nonZero(hash16(binary.LittleEndian.Uint64(id), binary.LittleEndian.Uint64(id[len(id)-8:]), uint64(n), seed))
			} else {
				keys[i] = Key(q.ID(i), seed)
			}
		}
	}
	return keys
}

// Words of XXH3's secret (Collet, xxHash specification).
const (
	secretLo = 0x1f67b3b7a4a44072 ^ 0x78e5c0cc4ee679cb
	secretHi = 0x2172ffcc7dd05a82 ^ 0x8e2443f7744608b8
)

// hash16 is XXH3-64 of n bytes, 9 to 16, given as the first and the last eight of them.
func hash16(first, last, n, seed uint64) uint64 {
	lo := first ^ (secretLo + seed)
	hi := last ^ (secretHi - seed)
	a, b := bits.Mul64(lo, hi)
	h := n + bits.ReverseBytes64(lo) + hi + (a ^ b)
	h ^= h >> 37
	h *= 0x165667919e3779f9
	return h ^ h>>32
}
