package exposure

import (
	"crypto/sha256"
	"encoding/binary"
	"math/bits"

	"github.com/zeebo/xxh3"
)

// seedOf is the user's seed: the first eight bytes of SHA-256 over the store's
// secret and the user. Without the secret nobody can craft two ids that collide
// for a user, and ids that collide for one user do not for the next. The seed is
// derived and not stored, so that an event can be hashed before the user's row has
// been read.
func seedOf(secret *[32]byte, user string) uint64 {
	var buf [32 + MaxIDBytes]byte
	copy(buf[:], secret[:])
	n := copy(buf[32:], user)
	sum := sha256.Sum256(buf[:32+n])
	return binary.LittleEndian.Uint64(sum[:])
}

// keyOf is the one key an id has for a user.
func keyOf(id []byte, seed uint64) uint32 { return nonZero(xxh3.HashSeed(id, seed)) }

// nonZero is the low half of a hash. Zero marks an empty cell in the exact table, so
// the id that hashes to it shares the key 1.
func nonZero(hash uint64) uint32 {
	k := uint32(hash)
	if k == 0 {
		k = 1
	}
	return k
}

// Words of XXH3's secret (Collet, xxHash specification).
const (
	secretLo = 0x1f67b3b7a4a44072 ^ 0x78e5c0cc4ee679cb
	secretHi = 0x2172ffcc7dd05a82 ^ 0x8e2443f7744608b8
)

// hash16 is XXH3-64 of n bytes, 9 to 16, given as the first and the last eight of
// them.
func hash16(first, last, n, seed uint64) uint64 {
	lo := first ^ (secretLo + seed)
	hi := last ^ (secretHi - seed)
	a, b := bits.Mul64(lo, hi)
	h := n + bits.ReverseBytes64(lo) + hi + (a ^ b)
	h ^= h >> 37
	h *= 0x165667919e3779f9
	return h ^ h>>32
}
