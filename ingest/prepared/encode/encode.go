// Package encode encodes prepared articles. Only programs that prepare them link it.
package encode

import (
	"encoding/binary"
	"math"

	"jianguo/index"
	"jianguo/ingest/prepared"
	"jianguo/simhash"
)

// Append appends the encoding of an article to b.
func Append(b []byte, a *index.Article) []byte {
	b = append(b, prepared.Version)
	field := func(f []byte) { b = append(binary.AppendUvarint(b, uint64(len(f))), f...) }
	number := func(n uint64) { field(binary.LittleEndian.AppendUint64(nil, n)) }
	var at, flags uint64
	if !a.Published.IsZero() {
		at = uint64(a.Published.UnixNano())
	}
	if a.Blank {
		flags |= prepared.Blank
	}
	if a.Packed != nil {
		flags |= prepared.Kept
	}
	field([]byte(a.Recipe))
	for _, n := range []uint64{uint64(a.Revision), at, uint64(a.Print.Fingerprint), flags, uint64(uint32(a.Text.Published))} {
		number(n)
	}
	field(a.Exact[:])
	margins := make([]byte, 0, 4*simhash.Bits)
	for _, m := range a.Print.Margins {
		margins = binary.LittleEndian.AppendUint32(margins, math.Float32bits(m))
	}
	field(margins)
	for _, s := range []string{a.ID, a.Title, a.Source, a.URL} {
		field([]byte(s))
	}
	field(a.Packed)
	field(a.Sketch.AppendBinary(nil))
	field([]byte(a.Text.Title))
	field([]byte(a.Text.Body))
	for _, n := range a.Text.Names {
		field([]byte(n))
	}
	return b
}
