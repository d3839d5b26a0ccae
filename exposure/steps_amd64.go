package exposure

import (
	"slices"

	"golang.org/x/sys/cpu"
)

var haveVBMI2 = haveAVX512 && cpu.X86.HasAVX512VBMI2

// hashVector hashes ids from the first on as long as eight that follow each other
// have 9 to 16 bytes, and says how many.
func (m *message) hashVector(from int, seed uint64) int {
	n := (len(m.spans) - from) &^ 7
	switch {
	case n <= 0 || len(m.body) == 0:
		return 0
	case haveAVX512:
		return hashAVX512(&m.spans[from], n, &m.body[0], &m.keys[from], secretLo+seed, secretHi-seed)
	case haveAVX2:
		return hashAVX2(&m.spans[from], n, &m.body[0], &m.keys[from], secretLo+seed, secretHi-seed)
	}
	return 0
}

// sortOutVector writes for whole 64s of a batch the marks of what shards hold and, a
// bit a key, what the exact table may hold; it says how many keys that were, and how
// many of them shards hold.
func (t *exactTable) sortOutVector(keys []uint32, hits *[batch]byte, marks []byte, may *[batch / 64]uint64) (n, shards int) {
	n = len(keys) &^ 63
	switch {
	case n == 0 || n > batch:
		return 0, 0
	case haveAVX512:
		return n, sortOutAVX512(&keys[0], n, &hits[0], &marks[:n][0], &t.bits[0], uint64(t.shift), &may[0])
	case haveAVX2:
		return n, sortOutAVX2(&keys[0], n, &hits[0], &marks[:n][0], &t.bits[0], uint64(t.shift), &may[0])
	}
	return 0, 0
}

// scanVector appends the spans of strings that follow each other with a comma, or a
// comma and a space, between them, the first of them opening at i. It returns where
// the first one opens that it has left over.
func (m *message) scanVector(i int) int {
	b, w := m.body, i>>6
	if !haveAVX2 || len(b)-i < 1024 {
		return i
	}
	q := m.quotes
	q[w] = q[w] >> (i & 63) << (i & 63) // what is before i has been passed
	n := q[w:].count() / 2
	old := len(m.spans)
	if n < 16 || n > MaxItems-old {
		return i
	}
	// What is written behind the last position is less than 64 more.
	spans := slices.Grow(m.spans, n+33)
	raw := spans[old : old+n+33]
	if haveVBMI2 {
		flattenAVX512(&q[w], len(q)-w, uint32(w<<6), &raw[0].from)
	} else {
		flattenBMI(&q[w], len(q)-w, uint32(w<<6), &raw[0].from)
	}
	for n > 0 && int(raw[n-1].to)+5 > len(b) { // so far is read
		n--
	}
	if n &^= 7; n == 0 {
		return i
	}
	if haveAVX512 {
		n = pairAVX512(&raw[0], n, &b[0])
	} else {
		n = pairAVX2(&raw[0], n, &b[0])
	}
	m.spans = spans[:old+n]
	return int(raw[n].from)
}

// listVector lists the marks that are unseen of as many 32s as there are.
func listVector(marks []byte, to []uint32) (n, count int) {
	n = len(marks) &^ 31
	switch {
	case n == 0:
		return 0, 0
	case haveAVX512:
		return n, listAVX512(&marks[0], n, &to[:n][0])
	case haveAVX2:
		return n, listAVX2(&marks[0], n, &left[0], &to[:n][0])
	}
	return 0, 0
}

// listSharedVector lists where in a list keys are that m.twice has, for as many 16s as
// there are. to has room for 16 more.
func (m *message) listSharedVector(list, to []uint32) (n, count int) {
	n = len(list) &^ 15
	switch {
	case n == 0:
		return 0, 0
	case haveAVX512:
		return n, sharedAVX512(&list[0], n, &m.keys[0], &m.twice[0], &to[:n+16][0])
	case haveAVX2:
		return n, sharedAVX2(&list[0], n, &m.keys[0], &m.twice[0], &left[0], &to[:n+16][0])
	}
	return 0, 0
}

// appendTokens appends tokens with a comma behind each, up to one that is long or odd
// or near the end of the body, and says how many. dst has room for all, and for 32
// bytes more, or 32 for each.
func (m *message) appendTokens(dst []byte, ids []uint32) ([]byte, int) {
	last := len(m.body) - shortToken + 1
	if !haveAVX2 || len(ids) == 0 || last < 1 {
		return dst, 0
	}
	at := len(dst)
	done, n := tokensAVX2(&dst[:at+1][at], &ids[0], len(ids), &m.spans[0], &m.body[0], uint64(last))
	return dst[:at+n], done
}

// hashAVX512 hashes whole eights of n ids in m.spans' form, up to the first eight of
// which one has less than 9 or more than 16 bytes.
//
//go:noescape
func hashAVX512(spans *span, n int, body *byte, keys *uint32, lo, hi uint64) (done int)

// sortOutAVX512 does n keys, a multiple of 64 and not zero.
//
//go:noescape
func sortOutAVX512(keys *uint32, n int, hits, marks *byte, bits *uint64, shift uint64, may *uint64) (shards int)

// flattenAVX512 writes the positions of the ones of n ≥ 1 words, the first of which
// begins at base. It may write up to 64 numbers past the last word's first one.
//
//go:noescape
func flattenAVX512(q *uint64, n int, base uint32, to *uint32) (count int)

// pairAVX512 makes spans of whole eights of n pairs of positions, up to the first eight
// of which one is empty, or too long, or not followed by a comma and the next string. It
// reads four bytes behind each.
//
//go:noescape
func pairAVX512(spans *span, n int, body *byte) (done int)

// listAVX512 writes the numbers of the zeros among n marks, a multiple of 16 and not
// zero, and up to 16 numbers behind the last, but none past the nth.
//
//go:noescape
func listAVX512(marks *byte, n int, to *uint32) (count int)

// sharedAVX512 writes which of n numbers, a multiple of 16 and not zero, are those of keys
// whose bit is set, and up to 16 numbers behind the last.
//
//go:noescape
func sharedAVX512(list *uint32, n int, keys *uint32, bits *uint64, to *uint32) (count int)

// sortOutAVX2 does n keys, a multiple of 32 and not zero.
//
//go:noescape
func sortOutAVX2(keys *uint32, n int, hits, marks *byte, bits *uint64, shift uint64, may *uint64) (shards int)

// listAVX2 writes the numbers of the zeros among n marks, a multiple of 32 and not zero,
// and up to eight numbers behind the last, but none past the nth.
//
//go:noescape
func listAVX2(marks *byte, n int, left *uint64, to *uint32) (count int)

// sharedAVX2 writes which of n numbers, a multiple of eight and not zero, are those of keys
// whose bit is set, and up to eight numbers behind the last.
//
//go:noescape
func sharedAVX2(list *uint32, n int, keys *uint32, bits, left *uint64, to *uint32) (count int)

// flattenBMI does what flattenAVX512 does.
//
//go:noescape
func flattenBMI(q *uint64, n int, base uint32, to *uint32) (count int)

// pairAVX2 does what pairAVX512 does.
//
//go:noescape
func pairAVX2(spans *span, n int, body *byte) (done int)

// hashAVX2 does what hashAVX512 does.
//
//go:noescape
func hashAVX2(spans *span, n int, body *byte, keys *uint32, lo, hi uint64) (done int)

// tokensAVX2 copies 32 bytes for each of n ids, whatever its length, up to one of more
// than 29, or beginning after last.
//
//go:noescape
func tokensAVX2(to *byte, ids *uint32, n int, spans *span, body *byte, last uint64) (done, written int)
