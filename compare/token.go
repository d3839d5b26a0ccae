package compare

import (
	"math"
	"math/bits"
	"slices"
	"sync"
	"unicode/utf8"

	"jianguo/compare/quantity"
)

// A token is one unit of a text: a Han character, a Latin word, or a number whatever its length, so that no run of
// equal tokens ends inside a number. The id of a number is a hash of its value: 三千, 3000 and 3,000 are one.
type token struct {
	id         uint32 // a Han character's is its rune
	start, end int32  // bytes of the normal form
}

const (
	latinToken  = 1 << 31
	numberToken = 3 << 30
)

func (t token) number() bool { return t.id >= numberToken }
func (t token) latin() bool  { return t.id>>30 == latinToken>>30 }

// tokensOf cuts a normal form into tokens.
func tokensOf(text string) []token {
	out := make([]token, 0, len(text)/3+8)
	for i := 0; i < len(text); {
		end, id := readToken(text, i)
		if end > i { // else a separator, or the punctuation of a number
			out = append(out, token{id, int32(i), int32(end)})
		}
		i = max(end, i+1)
	}
	return out
}

func readToken(text string, i int) (end int, id uint32) {
	if n, ok := quantity.ReadNumber(text, i); ok {
		return n.End, numberToken | uint32(mix(math.Float64bits(math.Round(n.Value*1e4)))>>34)
	}
	if c := text[i]; c < utf8.RuneSelf {
		h := uint64(14695981039346656037) // FNV-1a
		for end = i; end < len(text) && (alphabetic(text[end]) || end > i && alphanumeric(text[end])); end++ {
			h = (h ^ uint64(text[end])) * 1099511628211
		}
		return end, latinToken | uint32(mix(h)>>34)
	}
	r, size := utf8.DecodeRuneInString(text[i:])
	return i + size, uint32(r)
}

func alphabetic(c byte) bool   { return c-'a' < 26 }
func alphanumeric(c byte) bool { return alphabetic(c) || c-'0' < 10 }

// mix is the finaliser of MurmurHash3 (Appleby, public domain).
func mix(h uint64) uint64 {
	h ^= h >> 33
	h *= 0xff51afd7ed558ccd
	h ^= h >> 33
	h *= 0xc4ceb9fe1a85ec53
	return h ^ h>>33
}

// pick maps a hash to 0…n-1 by its high bits.
func pick(h uint64, n int) int {
	hi, _ := bits.Mul64(h, uint64(n))
	return int(hi)
}

// base is that of the rolling hash over tokens; odd, so that no bit is lost.
const base = 0x9ddfea08eb382d69

// appendShingles appends the rolling hashes over every k consecutive tokens.
func appendShingles(out []uint64, tokens []token, k int) []uint64 {
	h, drop := uint64(0), uint64(1)
	for range k {
		drop *= base
	}
	for i, t := range tokens {
		h = h*base + uint64(t.id) + 1
		if i >= k {
			h -= (uint64(tokens[i-k].id) + 1) * drop
		}
		if i >= k-1 {
			out = append(out, mix(h))
		}
	}
	return out
}

// A table finds where each shingle of a text begins: open addressing, the first offset by slot, and by offset the
// next one with the same shingle.
type table struct {
	hashes   []uint64
	first    []int32 // by slot, 1 + the offset; 0: free
	next     []int32 // by offset, likewise
	distinct int     // shingles
}

// tables are not in use: a new one would cost as much as filling it.
var tables = sync.Pool{New: func() any { return new(table) }}

// borrowTable returns a table of shingles by their offsets, which chains list from the lowest on. The caller gives it
// back with tables.Put.
func borrowTable(shingles []uint64) *table {
	t, size := tables.Get().(*table), 1<<bits.Len(uint(2*len(shingles)+1))
	t.hashes, t.first, t.next = slices.Grow(t.hashes[:0], size)[:size], slices.Grow(t.first[:0], size)[:size],
		slices.Grow(t.next[:0], len(shingles))[:len(shingles)]
	clear(t.first)
	t.distinct = 0
	for i := len(shingles) - 1; i >= 0; i-- {
		h := shingles[i]
		slot := t.slot(h)
		if t.first[slot] == 0 {
			t.distinct++
		}
		t.hashes[slot], t.next[i], t.first[slot] = h, t.first[slot], int32(i+1)
	}
	return t
}

// slot is where a hash is, or would be. At most half of the slots are taken.
func (t *table) slot(h uint64) uint64 {
	mask := uint64(len(t.hashes) - 1)
	i := h & mask
	for t.first[i&mask] != 0 && t.hashes[i&mask] != h {
		i++
	}
	return i & mask
}

// find is the first offset of a shingle, -1 for none.
func (t *table) find(h uint64) int { return int(t.first[t.slot(h)]) - 1 }

// following is the next offset with the same shingle, -1 for none.
func (t *table) following(offset int) int { return int(t.next[offset]) - 1 }

// countDistinct is how many of some hashes are distinct.
func countDistinct(hashes []uint64) int {
	t := borrowTable(hashes)
	defer tables.Put(t)
	return t.distinct
}
