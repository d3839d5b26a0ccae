package exposure

import (
	"encoding/binary"
	"fmt"
	"slices"
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
// is JSON that names the same ids; and no more is allocated than the bytes call for.
func FuzzPacked(f *testing.F) {
	f.Add(packed(1, "u", "", [3]uint32{}, "1", "-9223372036854775808", "9223372036854775807"))
	f.Add(packed(2, "ü", "feed", [3]uint32{10, 5, 100}, "a", "中\x00\"\\", "7"))
	f.Add(packed(2, "u", "", [3]uint32{}, "\xff"))
	f.Add(packed(1, "u", "s", [3]uint32{1 << 31, 0, 0}))
	huge := packed(1, "u", "", [3]uint32{})
	binary.LittleEndian.PutUint32(huge[12:], 1<<32-1)
	f.Add(huge)
	f.Fuzz(func(t *testing.T, b []byte) {
		var m message
		err := m.decodePacked(b)
		if cap(m.body) > 4*len(b)+3*MaxItems || cap(m.scratch) > 4*len(b)+64 || cap(m.spans) > len(b)+64 {
			t.Fatalf("%d bytes made %d, %d and %d", len(b), cap(m.body), cap(m.scratch), cap(m.spans))
		}
		if err != nil {
			return
		}
		var want []string
		m.answer = m.answer[:0]
		for i := range m.spans {
			if id := m.id(i); len(id) == 0 || len(id) > MaxIDBytes || !utf8.Valid(id) {
				t.Fatalf("id %d is %q", i, id)
			}
			want = append(want, string(m.id(i)))
			m.answer = append(m.answer, uint32(i))
		}
		out := m.appendJSON(nil, Outcome{})
		_, back, ok := slowIDs(out)
		if !ok || !slices.Equal(back, want) {
			t.Fatalf("%q answered %q", want, out)
		}
	})
}
