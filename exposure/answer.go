package exposure

import "strconv"

// appendJSON writes {"items":[...],"dropped":n} and what else there is to say.
func (m *message) appendJSON(dst []byte, o Outcome) []byte {
	dst = append(dst, `{"items":`...)
	dst = m.appendIDs(dst, unseen)
	if o.Relaxed > 0 || m.atLeast > 0 {
		dst = append(dst, `,"relaxed":`...)
		dst = m.appendIDs(dst, relaxed)
	}
	dst = append(dst, `,"dropped":`...)
	dst = strconv.AppendInt(dst, int64(o.Dropped), 10)
	if o.Degraded != "" {
		dst = append(dst, `,"degraded":`...)
		dst = appendString(dst, o.Degraded)
	}
	return append(dst, '}')
}

// appendIDs writes the ids with a mark. Neighbours in the answer that were
// neighbours in the request are copied as one piece, commas and all.
func (m *message) appendIDs(dst []byte, want byte) []byte {
	dst = append(dst, '[')
	marks, start := m.marks, len(dst)
	for i := 0; i < len(marks); i++ {
		if marks[i] != want {
			continue
		}
		j := i + 1
		for j < len(marks) && marks[j] == want {
			j++
		}
		dst = append(dst, m.body[m.spans[i].raw0:m.spans[j-1].raw1]...)
		dst = append(dst, ',')
		i = j
	}
	if len(dst) > start {
		dst = dst[:len(dst)-1]
	}
	return append(dst, ']')
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
	start := len(dst)
	dst = append(dst, make([]byte, (len(m.marks)+7)/8)...)
	for i, mark := range m.marks {
		if mark == want {
			dst[start+i>>3] |= 1 << (i & 7)
		}
	}
	return dst
}
