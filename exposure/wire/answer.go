package wire

import (
	"slices"
	"strconv"

	"github.com/go-json-experiment/json/jsontext"

	"jianguo/exposure/kernel"
)

// AppendJSON writes {"items":[...],"dropped":n}, with "relaxed" if at_least was given, and with
// "degraded" if the answer is. It comes after Choose.
func (a *Answer) AppendJSON(dst []byte, o Outcome) []byte {
	dst = append(dst, `{"items":`...)
	dst = a.Query.appendTokens(dst, a.chosen)
	if a.Query.AtLeast > 0 {
		a.chosen = a.chosen[:0]
		for i, mark := range a.Marks {
			if mark == Relaxed {
				a.chosen = append(a.chosen, uint32(i))
			}
		}
		dst = append(dst, `,"relaxed":`...)
		dst = a.Query.appendTokens(dst, a.chosen)
	}
	dst = append(dst, `,"dropped":`...)
	dst = strconv.AppendInt(dst, int64(o.Dropped), 10)
	if o.Degraded != "" {
		dst = append(dst, `,"degraded":`...)
		dst, _ = jsontext.AppendQuote(dst, o.Degraded) // plain text of ours
	}
	return append(dst, '}')
}

// appendTokens writes a JSON array of ids, spelled as they came.
func (q *Query) appendTokens(dst []byte, ids []uint32) []byte {
	dst = append(dst, '[')
	for n, i := range ids {
		if n > 0 {
			dst = append(dst, ',')
		}
		from, to := q.token(i)
		dst = append(dst, q.body[from:to]...)
	}
	return append(dst, ']')
}

// AppendBitmap writes ⌈n/8⌉ bytes, in which bit i%8, from the lowest, of byte i/8 is 1 where
// id i is returned; and, if at_least was given, as many bytes for the relaxed ids.
func (a *Answer) AppendBitmap(dst []byte) []byte {
	dst = appendBits(dst, a.Marks, kernel.Unseen)
	if a.Query.AtLeast > 0 {
		dst = appendBits(dst, a.Marks, Relaxed)
	}
	return dst
}

func appendBits(dst, marks []byte, want byte) []byte {
	for eight := range slices.Chunk(marks, 8) {
		var b byte
		for i, mark := range eight {
			// 1 where they are equal: a branch would be mispredicted half the time.
			b |= byte((uint32(mark^want)-1)>>31) << i
		}
		dst = append(dst, b)
	}
	return dst
}
