package wire

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"slices"

	"github.com/zeebo/xxh3"
)

// Key is the one key an id has for a user: the low half of XXH3-64 under the user's seed. Zero marks an empty cell in
// kernel.Set, so the id that hashes to it shares the key 1.
func Key(id []byte, seed uint64) uint32 { return max(uint32(xxh3.HashSeed(id, seed)), 1) }

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

// Seed is the user's seed: the first eight bytes of SHA-256 over the store's
// secret and the user. Without the secret a client cannot construct two ids that collide
// for a user. The seed is derived, so that an event can be hashed before the user's row is read.
func Seed(secret *[32]byte, user string) uint64 {
	var buf [32 + MaxIDBytes]byte
	copy(buf[:], secret[:])
	n := copy(buf[32:], user)
	sum := sha256.Sum256(buf[:32+n])
	return binary.LittleEndian.Uint64(sum[:])
}

// UserHash stands for a user in logs. It does not reveal the seed.
func UserHash(secret *[32]byte, user string) string {
	h := hmac.New(sha256.New, secret[:])
	h.Write([]byte(user))
	return hex.EncodeToString(h.Sum(nil)[:8])
}
