//go:build !purego

package wire

import (
	"math/bits"
	"slices"

	"golang.org/x/sys/cpu"
)

// haveAVX2 says that this processor runs the assembly. Tests turn it off.
var haveAVX2 = cpu.X86.HasAVX2 && cpu.X86.HasBMI1 && cpu.X86.HasBMI2 && cpu.X86.HasPOPCNT

// Words of XXH3's secret (Collet, xxHash specification).
const (
	secretLo = 0x1f67b3b7a4a44072 ^ 0x78e5c0cc4ee679cb
	secretHi = 0x2172ffcc7dd05a82 ^ 0x8e2443f7744608b8
)

// hashVector writes the keys of ids from the first on, as long as eight in a row have 9 to
// 16 bytes, and returns how many.
func hashVector(spans []span, body []byte, keys []uint32, seed uint64) int {
	n := len(spans) &^ 7
	if !haveAVX2 || n == 0 || len(body) == 0 {
		return 0
	}
	return hashAVX2(&spans[0], n, &body[0], &keys[0], secretLo+seed, secretHi-seed)
}

func mapQuotes(b []byte, to []uint64) (has byte) {
	if !haveAVX2 || len(b) == 0 {
		return mapQuotesPlain(b, to)
	}
	_ = to[len(b)/64-1]
	return mapQuotesAVX2(&b[0], len(b)/64, &to[0])
}

// scanVector appends the spans of strings that follow each other with a comma, or a comma
// and a space, between them. The first of them opens at i. It returns where the first string
// opens that it has not appended.
func (q *Query) scanVector(i int) int {
	b, w := q.body, i>>6
	if !haveAVX2 || len(b)-i < 1024 {
		return i
	}
	m := q.quotes
	m[w] = m[w] >> (i & 63) << (i & 63) // what is before i has been scanned
	n := 0                              // pairs of quotes
	for _, x := range m[w:] {
		n += bits.OnesCount64(x)
	}
	n /= 2
	old := len(q.spans)
	if n < 16 || n > MaxItems-old {
		return i
	}
	// flattenBMI writes up to 64 positions behind the last one.
	spans := slices.Grow(q.spans, n+33)
	raw := spans[old : old+n+33]
	flattenBMI(&m[w], len(m)-w, uint32(w<<6), &raw[0].from)
	for n > 0 && int(raw[n-1].to)+5 > len(b) { // pairAVX2 reads that far
		n--
	}
	if n &^= 7; n == 0 {
		return i
	}
	n = pairAVX2(&raw[0], n, &b[0])
	q.spans = spans[:old+n]
	return int(raw[n].from)
}

// mapQuotesAVX2 maps n ≥ 1 blocks of 64 bytes.
//
//go:noescape
func mapQuotesAVX2(b *byte, n int, to *uint64) (has byte)

// flattenBMI writes the positions of the ones of n ≥ 1 words, the first of which begins at
// base. It writes eight at a time, and so up to 64 positions that do not count.
//
//go:noescape
func flattenBMI(q *uint64, n int, base uint32, to *uint32) (count int)

// pairAVX2 makes spans of whole eights of n pairs of positions, up to the first eight of
// which one is empty, too long, or not followed by a comma and the next string. It reads
// four bytes behind each.
//
//go:noescape
func pairAVX2(spans *span, n int, body *byte) (done int)

// hashAVX2 hashes whole eights of n ids, up to the first eight of which one has less than 9
// or more than 16 bytes.
//
//go:noescape
func hashAVX2(spans *span, n int, body *byte, keys *uint32, lo, hi uint64) (done int)
