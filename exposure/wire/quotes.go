package wire

import (
	"math/bits"
	"slices"
	"unicode/utf8"
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
