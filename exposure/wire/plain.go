package wire

import "encoding/binary"

// What else a body holds than printable ASCII.
const (
	hasOther = 1 << iota // backslashes or control characters
	hasHigh              // bytes of 0x80 and more
)

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
