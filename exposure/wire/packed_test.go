package wire

import (
	"encoding/binary"
	"fmt"
	"testing"
	"unicode/utf8"
)

// packed builds a request: ids are int64 where all of them are numbers.
func packed(kind byte, user, scene string, numbers [3]uint32, ids ...string) []byte {
	le := binary.LittleEndian
	b := append([]byte("JGF1"), kind, 0)
	b = le.AppendUint16(b, uint16(len(user)))
	b = le.AppendUint16(b, uint16(len(scene)))
	b = le.AppendUint16(b, 0)
	b = le.AppendUint32(b, uint32(len(ids)))
	for _, n := range numbers {
		b = le.AppendUint32(b, n)
	}
	b = append(append(b, user...), scene...)
	for _, id := range ids {
		if kind == 1 {
			var n int64
			fmt.Sscan(id, &n)
			b = le.AppendUint64(b, uint64(n))
			continue
		}
		b = append(le.AppendUint16(b, uint16(len(id))), id...)
	}
	return b
}

// FuzzPacked: any bytes give an error or a request within the limits, whose answer
// is JSON with the same ids; and memory is bounded by the length of the input.
func FuzzPacked(f *testing.F) {
	f.Add(packed(1, "u", "", [3]uint32{}, "1", "-9223372036854775808", "9223372036854775807"))
	f.Add(packed(2, "ü", "feed", [3]uint32{10, 5, 100}, "a", "中\x00\"\\", "7"))
	f.Add(packed(2, "u", "", [3]uint32{}, "\xff"))
	f.Add(packed(1, "u", "s", [3]uint32{1 << 31, 0, 0}))
	huge := packed(1, "u", "", [3]uint32{})
	binary.LittleEndian.PutUint32(huge[12:], 1<<32-1)
	f.Add(huge)
	f.Fuzz(func(t *testing.T, b []byte) {
		var q Query
		err := q.DecodePacked(b)
		if cap(q.body) > 4*len(b)+3*MaxItems || cap(q.scratch) > 4*len(b)+64 || cap(q.spans) > len(b)+64 {
			t.Fatalf("%d bytes made %d, %d and %d", len(b), cap(q.body), cap(q.scratch), cap(q.spans))
		}
		if err != nil {
			return
		}
		for i := range q.Len() {
			if id := q.ID(i); len(id) == 0 || len(id) > MaxIDBytes || !utf8.Valid(id) {
				t.Fatalf("id %d is %q", i, id)
			}
		}
		q.Max, q.AtLeast = 0, 0
		checkAnswer(t, &q, q.IDs())
	})
}
