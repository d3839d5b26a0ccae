package tokens

import (
	"crypto/subtle"
	"encoding/base64"
	"errors"
	"fmt"
	"strings"

	"golang.org/x/crypto/argon2"
)

// prefix begins a token, an id of idLength characters and _ follow, and then the secret.
const (
	prefix   = "jg_"
	idLength = 10
)

// What one hash may cost at most.
const maxTime, maxMemory, maxThreads = 16, 256 << 10, 8

// hash is a parsed argon2id hash in the form of its reference implementation:
// $argon2id$v=19$m=19456,t=2,p=1$SALT$HASH.
type hash struct {
	time, memory uint32
	threads      uint8
	salt, sum    []byte
}

func parseHash(text string) (*hash, error) {
	h, part := new(hash), strings.Split(text, "$")
	malformed := errors.New("is not of the form $argon2id$v=19$m=…,t=…,p=…$salt$hash: add the token again")
	if len(part) != 6 || part[0] != "" || part[1] != "argon2id" || part[2] != fmt.Sprintf("v=%d", argon2.Version) {
		return nil, malformed
	}
	if n, err := fmt.Sscanf(part[3], "m=%d,t=%d,p=%d", &h.memory, &h.time, &h.threads); n != 3 || err != nil {
		return nil, malformed
	}
	if h.time < 1 || h.time > maxTime || h.threads < 1 || h.threads > maxThreads || h.memory < 8*uint32(h.threads) ||
		h.memory > maxMemory {
		return nil, fmt.Errorf("wants m=%d,t=%d,p=%d: at most m=%d,t=%d,p=%d are taken", h.memory, h.time, h.threads,
			maxMemory, maxTime, maxThreads)
	}
	var saltErr, sumErr error
	h.salt, saltErr = base64.RawStdEncoding.DecodeString(part[4])
	h.sum, sumErr = base64.RawStdEncoding.DecodeString(part[5])
	if saltErr != nil || sumErr != nil || len(h.salt) < 8 || len(h.sum) < 16 {
		return nil, malformed
	}
	return h, nil
}

// isOf reports whether it is the hash of a secret.
func (h *hash) isOf(secret string) bool {
	return subtle.ConstantTimeCompare(h.sum, argon2.IDKey([]byte(secret), h.salt, h.time, h.memory, h.threads,
		uint32(len(h.sum)))) == 1
}
