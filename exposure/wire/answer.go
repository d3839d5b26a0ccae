package wire

import (
	"bytes"
	"cmp"
	"math/bits"
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

// Marks that Choose writes, in addition to those of package kernel.
const (
	Relaxed = 3 // held by a shard only, and returned all the same
	Cut     = 4 // unseen, but beyond Max
	Repeat  = 5 // unseen, but a repeat of an earlier id
)

// Outcome describes an answer apart from its ids.
type Outcome struct {
	Items, Relaxed, Dropped int
	Degraded                string // "" or why everything (open) or nothing (closed) was returned
}

// Answer is the answer to one query. The zero value is ready to use, and may be used
// again: it keeps its memory. Query, Keys and Marks belong together: one key and one mark
// an id.
type Answer struct {
	Query *Query
	Keys  []uint32
	Marks []byte
	// Order lists ids that only shards hold, by their numbers, in the order in which
	// AtLeast may bring them back.
	Order []uint32

	chosen []uint32 // numbers of the ids returned
	table  []uint16 // open-addressing set of numbers + 1, to find repeats
}

// Choose turns marks into an answer: repeats are dropped, Max cuts, AtLeast relaxes.
func (a *Answer) Choose() (o Outcome) {
	limit := cmp.Or(a.Query.Max, len(a.Marks))
	// Whether an id is unseen is as good as random: a branch on it would be mispredicted
	// half of the time, so the list is written without one.
	list, n := slices.Grow(a.chosen[:0], len(a.Marks))[:len(a.Marks)], 0
	for i, mark := range a.Marks {
		list[n] = uint32(i)
		if mark == kernel.Unseen {
			n++
		}
	}
	o.Dropped = len(a.Marks) - n
	size := max(64, 1<<bits.Len(uint(4*(n+len(a.Order)))))
	a.table = slices.Grow(a.table[:0], size)[:size]
	clear(a.table)
	list, o.Items = list[:n], 0
	for _, i := range list {
		if at := a.Keys[i] & uint32(len(a.table)-1); a.table[at] == 0 { // nearly all
			a.table[at] = uint16(i + 1)
		} else if a.repeated(i) {
			a.Marks[i] = Repeat
			o.Dropped++
			continue
		}
		if o.Items == limit {
			a.Marks[i] = Cut
			continue
		}
		list[o.Items] = i
		o.Items++
	}
	a.chosen = list[:o.Items]
	for _, i := range a.Order {
		if o.Items+o.Relaxed >= a.Query.AtLeast {
			break
		}
		if !a.repeated(i) {
			a.Marks[i] = Relaxed
			o.Relaxed++
			o.Dropped--
		}
	}
	return o
}

// repeated adds an id to the table and says whether it was there. Equal keys are not
// enough: two ids of one request may share one, and neither may be lost for it.
func (a *Answer) repeated(i uint32) bool {
	key, mask := a.Keys[i], uint32(len(a.table)-1)
	for at := key & mask; ; at = (at + 1) & mask {
		j := a.table[at]
		if j == 0 {
			a.table[at] = uint16(i + 1)
			return false
		}
		if a.Keys[j-1] == key && bytes.Equal(a.Query.ID(int(j-1)), a.Query.ID(int(i))) {
			return true
		}
	}
}
