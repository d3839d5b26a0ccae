package exposure

import (
	"encoding/binary"
	"slices"
	"strconv"
)

// appendJSON writes {"items":[...],"dropped":n} and what else there is to say.
func (m *message) appendJSON(dst []byte, o Outcome) []byte {
	dst = append(dst, `{"items":`...)
	dst = m.appendIDs(dst, m.answer)
	if o.Relaxed > 0 || m.atLeast > 0 {
		m.answer = m.answer[:0]
		for i, mark := range m.marks {
			if mark == relaxed {
				m.answer = append(m.answer, uint32(i))
			}
		}
		dst = append(dst, `,"relaxed":`...)
		dst = m.appendIDs(dst, m.answer)
	}
	dst = append(dst, `,"dropped":`...)
	dst = strconv.AppendInt(dst, int64(o.Dropped), 10)
	if o.Degraded != "" {
		dst = append(dst, `,"degraded":`...)
		dst = appendString(dst, o.Degraded)
	}
	return append(dst, '}')
}

// shortToken is what appendIDs copies at once, whether a token is that long or not.
const shortToken = 32

// appendIDs writes the tokens of ids as they came.
func (m *message) appendIDs(dst []byte, ids []uint32) []byte {
	dst = append(dst, '[')
	if len(ids) == 0 {
		return append(dst, ']')
	}
	body := m.body
	dst = slices.Grow(dst, min(len(ids)*shortToken, len(body)+len(ids)+shortToken))
	dst, done := m.appendTokens(dst, ids)
	for _, i := range ids[done:] {
		from, to := m.token(int(i))
		if cap(dst)-len(dst) < shortToken {
			dst = slices.Grow(dst, max(len(body)/2, shortToken))
		}
		at, n := len(dst), int(to-from)
		if n < shortToken && int(from)+shortToken <= len(body) {
			// Less than a call to copy: four loads, four stores, and what is too
			// much is overwritten by what comes next.
			to, from := dst[at:at+shortToken], body[from:][:shortToken]
			le := binary.LittleEndian
			le.PutUint64(to, le.Uint64(from))
			le.PutUint64(to[8:], le.Uint64(from[8:]))
			le.PutUint64(to[16:], le.Uint64(from[16:]))
			le.PutUint64(to[24:], le.Uint64(from[24:]))
			dst = dst[:at+n+1]
			dst[at+n] = ','
			continue
		}
		dst = append(append(dst, body[from:to]...), ',')
	}
	dst[len(dst)-1] = ']'
	return dst
}

// appendBitmaps writes ⌈n/8⌉ bytes for the items and, if at_least was given, as
// many for the relaxed ones.
func (m *message) appendBitmaps(dst []byte) []byte {
	dst = m.appendBitmap(dst, unseen)
	if m.atLeast > 0 {
		dst = m.appendBitmap(dst, relaxed)
	}
	return dst
}

func (m *message) appendBitmap(dst []byte, want byte) []byte {
	// Marks are small numbers, so eight of them are compared at once without one
	// borrowing from the next, and their high bits gathered by a multiplication.
	const ones, highs, gather = 0x0101010101010101, 0x8080808080808080, 0x0002040810204081
	marks := m.marks
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
