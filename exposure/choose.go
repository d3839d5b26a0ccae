package exposure

import (
	"bytes"
	"slices"
)

// choose turns what the kernel found into the answer: repeats go, max cuts,
// at_least relaxes.
func (m *message) choose(o *Outcome) {
	limit := m.max
	if limit == 0 {
		limit = len(m.spans)
	}
	// Which are unseen is as good as random, and a branch on it would be
	// mispredicted half of the time: so they are listed without one first.
	m.answer = slices.Grow(m.answer[:0], len(m.marks))[:len(m.marks)]
	from, n := listVector(m.marks, m.answer)
	for i := from; i < len(m.marks); i++ {
		m.answer[n] = uint32(i)
		if m.marks[i] == unseen {
			n++
		}
	}
	o.Dropped = len(m.marks) - n
	list := m.dropRepeats(m.answer[:n], o)
	if len(list) > limit {
		for _, i := range list[limit:] {
			m.marks[i] = cut
		}
		list = list[:limit]
	}
	m.answer, o.Items = list, len(list)
	for _, r := range m.order {
		if o.Items+o.Relaxed >= m.atLeast {
			break
		}
		if i := r & 0xffff; !m.twice.has(m.keys[i]) || !m.repeated(i) {
			m.marks[i] = relaxed
			o.Relaxed++
			o.Dropped--
		}
	}
}

// dropRepeats takes out of a list what is in it already.
func (m *message) dropRepeats(list []uint32, o *Outcome) []uint32 {
	m.shareBits(list)
	shared := m.listShared(list)
	m.forgetRepeats(len(shared) + len(m.order))
	n := len(list)
	for _, at := range shared {
		if i := list[at]; m.repeated(i) {
			m.marks[i] = repeat
			o.Dropped++
			n--
		}
	}
	if n == len(list) {
		return list
	}
	n = 0
	for _, i := range list {
		list[n] = i
		if m.marks[i] != repeat {
			n++
		}
	}
	return list[:n]
}

// forgetRepeats empties the set of ids answered so far, to hold up to n.
func (m *message) forgetRepeats(n int) {
	size := 64
	for size < 2*n {
		size *= 2
	}
	m.seen = slices.Grow(m.seen[:0], size)[:size]
	clear(m.seen)
}

// bitmap has a bit for each value of the low bits of a key.
type bitmap [1 << 11]uint64

func (b *bitmap) has(key uint32) bool { return b[key>>6%uint32(len(b))]>>(key&63)&1 != 0 }

func (b *bitmap) add(key uint32) { b[key>>6%uint32(len(b))] |= 1 << (key & 63) }

// shareBits finds out which ids may have a repeat at all: those whose bit another
// wants too. Of five thousand that are all different, one in forty; asking the set for
// each would take four times as long.
func (m *message) shareBits(list []uint32) {
	clear(m.once[:])
	clear(m.twice[:])
	m.shared = slices.Grow(m.shared[:0], len(list)+len(m.order))[:len(list)+len(m.order)]
	keys, once, later, n := m.keys, &m.once, m.shared, 0 // keys whose bit was taken
	for _, i := range list {
		key := keys[i]
		word := &once[key>>6%uint32(len(once))]
		later[n] = key
		n += int(*word >> (key & 63) & 1)
		*word |= 1 << (key & 63)
	}
	for _, r := range m.order {
		key := keys[r&0xffff]
		later[n] = key
		if once.has(key) {
			n++
		}
		once.add(key)
	}
	for _, key := range later[:n] {
		m.twice.add(key)
	}
}

// listShared lists where in a list those ids are.
func (m *message) listShared(list []uint32) []uint32 {
	m.shared = slices.Grow(m.shared[:0], len(list)+16)[:len(list)+16]
	from, n := m.listSharedVector(list, m.shared)
	for at := from; at < len(list); at++ {
		m.shared[n] = uint32(at)
		if m.twice.has(m.keys[list[at]]) {
			n++
		}
	}
	return m.shared[:n]
}

// repeated adds an id to the set and says whether it was there. Equal keys are not
// enough: two ids of one request may share one, and neither may be lost for it.
func (m *message) repeated(i uint32) bool {
	key, mask := m.keys[i], uint32(len(m.seen)-1)
	for at := key & mask; ; at = (at + 1) & mask {
		j := m.seen[at]
		if j == 0 {
			m.seen[at] = uint16(i + 1)
			return false
		}
		if m.keys[j-1] == key && bytes.Equal(m.id(int(j-1)), m.id(int(i))) {
			return true
		}
	}
}
