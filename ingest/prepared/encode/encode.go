// Package encode encodes prepared articles. Only programs that prepare them link it.
package encode

import (
	"encoding/binary"

	"jianguo/index"
	"jianguo/ingest/prepared"
)

// Append appends the encoding of an article, without its recipe, to b.
func Append(b []byte, a *index.Article) []byte {
	h := prepared.Head{Revision: a.Revision, Day: a.Text.Published, Blank: a.Blank, Exact: a.Exact, Print: a.Print}
	if !a.Published.IsZero() {
		h.Published = a.Published.UnixNano()
	}
	head, _ := binary.Append(nil, binary.LittleEndian, &h) // it fails for types of no fixed size
	sentences, _ := binary.Append(nil, binary.LittleEndian, a.Text.Sentences)
	b = append(b, prepared.Version)
	for _, f := range [][]byte{head, a.Sketch.AppendBinary(nil), a.Packed, []byte(a.ID), []byte(a.Title), []byte(a.Source), []byte(a.URL), []byte(a.Text.Title), []byte(a.Text.Body), sentences} {
		b = prepared.Append(b, f)
	}
	for _, n := range a.Text.Names {
		b = prepared.Append(b, []byte(n))
	}
	return b
}
