// Package kernel tests many keys of one user at once: against the exact set of the keys in the
// user's tail and ring, and against all of the user's Bloom shards.
//
// A shard is a bloom.BloomFilter of bits-and-blooms/bloom/v3 over the four little-endian
// bytes of a key. The kernel reads the bits that bloom/v3 writes, and gives the answers of
// its Test. It differs in two ways. It hashes a key once for all shards, where bloom/v3
// hashes it once a shard. And shards of one (m, k) ask for the same bit numbers, so their bits
// are interleaved into a lane: one load and one AND test up to eight shards.
//
// With AVX2, FMA and BMI2 a batch of keys goes through assembly, eight keys at a time. On
// other processors, and with the build tag purego, plain Go does the same; FuzzMark and
// TestVectorIsPlain hold the two together.
package kernel

import (
	"encoding/binary"
	"math/bits"
	"slices"
)

// Marks, one byte a key: where it was found.
const (
	Unseen  = 0 // nowhere
	Exact   = 1 // in the exact set
	InShard = 2 // in a shard only
)

// View is what keys are tested against. Many goroutines may use it at once while it is not
// changed.
type View struct {
	Set      Set      // keys that are known exactly
	Excepted []uint32 // keys that count as unseen although a shard holds them
	Lanes    Lanes
}

// Mark writes a mark for each key, and returns how many are Exact and InShard. marks has the
// length of keys. A key is never 0.
func (v *View) Mark(keys []uint32, marks []byte) (exact, inShard int) {
	var w work
	for len(keys) > 0 {
		part := keys[:min(len(keys), batch)]
		clear(w.hits[:])
		v.Lanes.test(part, &w)
		if len(v.Excepted) > 0 {
			for i, key := range part {
				if w.hits[i] != 0 && slices.Contains(v.Excepted, key) {
					w.hits[i] = 0
				}
			}
		}
		e, in := v.merge(part, &w.hits, marks[:len(part)])
		exact, inShard = exact+e, inShard+in
		keys, marks = keys[len(part):], marks[len(part):]
	}
	return exact, inShard
}

// merge turns hits, 1 where a shard holds the key, into marks, in which the exact set wins.
func (v *View) merge(keys []uint32, hits *[batch]byte, marks []byte) (exact, inShard int) {
	for i := 0; i < len(marks); i += 8 {
		eight := binary.LittleEndian.Uint64(hits[i&(batch-8):])
		inShard += bits.OnesCount64(eight)
		if i+8 <= len(marks) {
			binary.LittleEndian.PutUint64(marks[i:], eight*InShard)
			continue
		}
		for j := range marks[i:] {
			marks[i+j] = byte(eight>>(8*j)) * InShard
		}
	}
	for i, key := range keys {
		if v.Set.mayHave(key) && v.Set.Has(key) {
			inShard -= int(marks[i] / InShard)
			marks[i] = Exact
			exact++
		}
	}
	return exact, inShard
}

// Set is an open-addressing set of keys. Keys are hashes, so their low bits are the address. At most one cell in four
// is taken: most keys that are not in the set meet an empty one at once.
type Set struct {
	cells []uint32 // 0 is an empty cell; as many as a power of two
}

// Reset empties the set and makes room for n keys.
func (s *Set) Reset(n int) { s.cells = make([]uint32, max(16, 1<<bits.Len(uint(4*n)))) }

// Add adds a key, which is not 0. A set holds no more keys than Reset made room for.
func (s *Set) Add(key uint32) {
	for i := key; ; i++ {
		if c := &s.cells[i&uint32(len(s.cells)-1)]; *c == 0 || *c == key {
			*c = key
			return
		}
	}
}

// mayHave is false for most keys that are not in the set.
func (s *Set) mayHave(key uint32) bool { return s.cells[key&uint32(len(s.cells)-1)] != 0 }

// Has says whether the set holds a key.
func (s *Set) Has(key uint32) bool {
	for i := key; ; i++ {
		switch s.cells[i&uint32(len(s.cells)-1)] {
		case key:
			return true
		case 0:
			return false
		}
	}
}

func (s *Set) Bytes() int { return 4 * len(s.cells) }
