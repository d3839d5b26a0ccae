package wire

import (
	"encoding/binary"
	"math/bits"
	"slices"
	"unicode/utf8"
)

// quoteMap is where the quotes of a body are: bit i%64 of word i/64 for byte i. A
// body of five thousand ids has ten thousand of them, and looking for each by itself
// takes longer than anything else that is done with its id.
type quoteMap []uint64

// What else a body holds than printable ASCII.
const (
	hasOther = 1 << iota // backslashes or control characters
	hasHigh              // bytes of 0x80 and more
)

// read maps b, and says whether it is plain: valid UTF-8 without backslashes and
// control characters, so that the end of a string is simply its next quote.
func (q *quoteMap) read(b []byte) (plain bool) {
	n := (len(b) + 63) / 64
	*q = slices.Grow((*q)[:0], n)[:n]
	whole := len(b) / 64
	has := mapQuotes(b[:64*whole], *q)
	if whole < n {
		var last [64]byte
		for i := copy(last[:], b[64*whole:]); i < 64; i++ {
			last[i] = ' '
		}
		has |= mapQuotes(last[:], (*q)[whole:])
	}
	return has == 0 || has == hasHigh && utf8.Valid(b)
}

// mapQuotesPlain maps whole blocks of 64 bytes, eight bytes at a time.
func mapQuotesPlain(b []byte, to []uint64) (has byte) {
	const (
		ones, highs    = 0x0101010101010101, 0x8080808080808080
		quotes, slash  = '"' * ones, '\\' * ones
		space, gather7 = ' ' * ones, 0x0002040810204081
	)
	var other, high uint64
	for i := range len(b) / 64 {
		var word uint64
		for j, block := 0, b[64*i:64*i+64]; j < 64; j += 8 {
			w := binary.LittleEndian.Uint64(block[j:])
			// The sums stay inside their bytes: what is left of a byte of w
			// without its high bit, and 127, make that bit 0 for nothing alone.
			q, s := w^quotes, w^slash
			q = ^(q&^highs + ^uint64(highs) | q) & highs
			s = ^(s&^highs + ^uint64(highs) | s) & highs
			other |= s | ^(w|highs-space|w)&highs
			high |= w
			word |= q * gather7 >> 56 << j
		}
		to[i] = word
	}
	if other != 0 {
		has |= hasOther
	}
	if high&highs != 0 {
		has |= hasHigh
	}
	return has
}

// next is the first quote at or after i, or -1.
func (q quoteMap) next(i int) int {
	w := i >> 6
	if w >= len(q) {
		return -1
	}
	for x := q[w] >> (i & 63) << (i & 63); ; x = q[w] {
		if x != 0 {
			return w<<6 + bits.TrailingZeros64(x)
		}
		if w++; w == len(q) {
			return -1
		}
	}
}

// count is how many there are.
func (q quoteMap) count() (n int) {
	for _, x := range q {
		n += bits.OnesCount64(x)
	}
	return n
}
