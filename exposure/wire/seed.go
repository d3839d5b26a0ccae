package wire

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
)

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

// UserHash stands for a user in logs. It does not tell the seed.
func UserHash(secret *[32]byte, user string) string {
	h := hmac.New(sha256.New, secret[:])
	h.Write([]byte(user))
	return hex.EncodeToString(h.Sum(nil)[:8])
}
