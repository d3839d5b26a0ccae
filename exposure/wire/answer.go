package wire

import (
	"encoding/binary"
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

// shortToken is how many bytes appendTokens copies at once, whatever the length of a token.
const shortToken = 32

// appendTokens writes a JSON array of ids, spelled as they came.
func (q *Query) appendTokens(dst []byte, ids []uint32) []byte {
	dst = append(dst, '[')
	if len(ids) == 0 {
		return append(dst, ']')
	}
	body, spans := q.body, q.spans
	dst = slices.Grow(dst, len(body)+len(ids)+shortToken) // tokens do not overlap in the body
	at, out := len(dst), dst[:cap(dst)]
	last := uint32(max(0, len(body)-shortToken+2)) // where a span may begin to be copied so
	for _, i := range ids {
		// An odd span has a length and a beginning that are far too large.
		if sp := spans[i]; sp.to-sp.from < shortToken-2 && sp.from < last {
			// Cheaper than a call: what is too much is overwritten by what comes next.
			to, from := out[at:at+shortToken:at+shortToken], body[sp.from-1:sp.from-1+shortToken]
			*(*[shortToken]byte)(to) = *(*[shortToken]byte)(from)
			at += int(sp.to-sp.from) + 2
		} else {
			from, to := q.token(i)
			at += copy(out[at:], body[from:to])
		}
		out[at] = ','
		at++
	}
	out[at-1] = ']'
	return out[:at]
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
	// Marks are small numbers, so eight of them are compared at once without one borrowing
	// from the next, and their high bits are gathered by a multiplication.
	const ones, highs, gather = 0x0101010101010101, 0x8080808080808080, 0x0002040810204081
	for len(marks) >= 8 {
		w := highs - (binary.LittleEndian.Uint64(marks) ^ uint64(want)*ones)
		dst = append(dst, byte(w&highs*gather>>56))
		marks = marks[8:]
	}
	if len(marks) > 0 {
		var last byte
		for i, mark := range marks {
			if mark == want {
				last |= 1 << i
			}
		}
		dst = append(dst, last)
	}
	return dst
}
