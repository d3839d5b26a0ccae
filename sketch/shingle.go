package sketch

import (
	"iter"
	"math/bits"
	"unicode/utf8"
)

// base is that of the rolling hash over tokens; odd, so that no bit is lost.
const base = 0x9ddfea08eb382d69

// shingles are the rolling hashes over every k consecutive tokens.
func shingles(tokens []token, k int) iter.Seq[uint64] {
	return func(yield func(uint64) bool) {
		h, drop := uint64(0), uint64(1)
		for range k {
			drop *= base
		}
		for i := range tokens {
			h = h*base + tokens[i].hash
			if i >= k {
				h -= tokens[i-k].hash * drop
			}
			if i >= k-1 && !yield(mix(h)) {
				return
			}
		}
	}
}

// pick maps a hash to 0…n-1 by its high bits.
func pick(h uint64, n int) int {
	hi, _ := bits.Mul64(h, uint64(n))
	return int(hi)
}

// pairHash is the hash that shingles of two give to the first two tokens.
func pairHash(t []token) uint64 { return mix(t[0].hash*base + t[1].hash) }

// grams numbers the distinct shingles of a text from 0, in order of their first appearance.
type grams struct {
	hashes []uint64 // an open-addressing table; 0 is a free slot
	ids    []int32  // by slot
	used   int
}

// reset empties the table and makes room for n shingles.
func (g *grams) reset(n int) {
	size := 64
	for size < 2*n {
		size *= 2
	}
	if cap(g.hashes) < size {
		g.hashes, g.ids = make([]uint64, size), make([]int32, size)
	} else {
		g.hashes, g.ids = g.hashes[:size], g.ids[:size]
		clear(g.hashes)
	}
	g.used = 0
}

// slot returns the slot where a hash is, or would be. At most as many hashes are put in as reset made room for.
func (g *grams) slot(h uint64) (i uint64, found bool) {
	mask := uint64(len(g.hashes) - 1)
	for i = h & mask; i < uint64(len(g.hashes)); i = (i + 1) & mask {
		switch g.hashes[i] {
		case h:
			return i, true
		case 0:
			return i, false
		}
	}
	return 0, false // not reached: i stays below the length, a power of two
}

// put returns the number of a hash, and whether the hash is new.
func (g *grams) put(h uint64) (id int32, fresh bool) {
	h = max(h, 1)
	i, found := g.slot(h)
	if !found {
		g.hashes[i], g.ids[i] = h, int32(g.used)
		g.used++
	}
	return g.ids[i], !found
}

// find returns the number of a hash, -1 for none.
func (g *grams) find(h uint64) int32 {
	if i, found := g.slot(max(h, 1)); found {
		return g.ids[i]
	}
	return -1
}

// appendTo appends the hashes, in no order.
func (g *grams) appendTo(dst []uint64) []uint64 {
	for _, h := range g.hashes {
		if h != 0 {
			dst = append(dst, h)
		}
	}
	return dst
}

// token is one unit of text. The hash of a figure is that of its value and kind, so 三千, 3000 and 3,000 are
// one figure, and 12.00 is 12.
type token struct {
	hash       uint64
	start, end int32 // bytes in the normal form
	kind       kind
	clause     bool // first of its clause
}

// appendTokens cuts a normal form into tokens.
func appendTokens(dst []token, s string) []token {
	first := true
	for i := 0; i < len(s); {
		x := readToken(s, i)
		if x.end == i { // a space, a line break or the punctuation of a number
			first = first || s[i] == '\n'
			i++
			continue
		}
		dst = append(dst, token{hash: x.hash, start: int32(i), end: int32(x.end), kind: x.kind, clause: first})
		first, i = false, x.end
	}
	return dst
}

// readToken reads the token at s[i]; it is empty where none begins.
func readToken(s string, i int) lexeme {
	switch c := s[i]; {
	case isDigit(c):
		return readNumber(s, i)
	case c < utf8.RuneSelf:
		return readWord(s, i)
	}
	r, size := utf8.DecodeRuneInString(s[i:])
	if hanDigit(r) >= 0 || r == '十' {
		if x, ok := readNumeral(s, i); ok {
			return x
		}
	}
	return lexeme{hash: hanHash(r), end: i + size, kind: han}
}

// readWord reads a Latin word: letters, then letters and digits.
func readWord(s string, i int) lexeme {
	j := i
	h := uint64(14695981039346656037) // FNV-1a
	for j < len(s) && (s[j]-'a' < 26 || j > i && isDigit(s[j])) {
		h = (h ^ uint64(s[j])) * 1099511628211
		j++
	}
	return lexeme{hash: mix(h), end: j, kind: word}
}

// hanHash is the hash of a character that is a token by itself.
func hanHash(r rune) uint64 { return uint64(r) * 0x9e3779b97f4a7c15 }
