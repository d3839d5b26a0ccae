// Package prepared decodes articles that another process has prepared for a
// service (package encode): normal form, fingerprint with margins, sketch, packed text.
package prepared

import (
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"jianguo/index"
	"jianguo/simhash"
	"jianguo/sketch"
)

// Version is that of the encoding. A message, and an article in it, is the version byte, then fields, each with its length as
// a uvarint before it. Version 3: a request has the items as they were published; its answer the recipe, then an article for
// each item, an empty field where the segmenter prepared none; an article Head; sketch; packed text, empty if it is not
// kept; id, title, source, url; normal title and body; where sentences begin in it, little-endian; names.
const Version = 3

// fixed is the number of fields of an article before the names.
const fixed = 10

// Head is what has a fixed size, little-endian and without gaps.
type Head struct {
	Revision, Published int64 // Unix nanoseconds; 0: unknown
	Day                 int32 // of publication
	Blank               bool
	Exact               [16]byte
	Print               simhash.Print
}

// ErrEncoding says that bytes are not of this version.
var ErrEncoding = errors.New("not a prepared article of a known version")

// Append appends a field to b.
func Append(b, field []byte) []byte {
	return append(binary.AppendUvarint(b, uint64(len(field))), field...)
}

// DecodeMessage returns the fields of a message, or of an article, which refer to b. The error is ErrEncoding.
func DecodeMessage(b []byte) ([][]byte, error) {
	if len(b) == 0 || b[0] != Version {
		return nil, ErrEncoding
	}
	f := make([][]byte, 0, 32)
	for b = b[1:]; len(b) > 0; {
		n, size := binary.Uvarint(b)
		if size <= 0 || n > uint64(len(b)-size) {
			return nil, ErrEncoding
		}
		f, b = append(f, b[size:size+int(n)]), b[size+int(n):]
	}
	return f, nil
}

// Decode reads an article, which does not refer to b. The error is ErrEncoding.
func Decode(b []byte) (*index.Article, error) {
	f, err := DecodeMessage(b)
	if err != nil || len(f) < fixed {
		return nil, ErrEncoding
	}
	var h Head
	n, errHead := binary.Decode(f[0], binary.LittleEndian, &h)
	made, errSketch := sketch.Decode(f[1])
	if errHead != nil || errSketch != nil || n != len(f[0]) {
		return nil, ErrEncoding
	}
	var normal strings.Builder // title, body and names in one allocation
	normal.Grow(len(b) - len(f[2]))
	cut := func(f []byte) string {
		begin := normal.Len()
		normal.Write(f)
		return normal.String()[begin:]
	}
	a := &index.Article{ID: string(f[3]), Title: string(f[4]), Source: string(f[5]), URL: string(f[6]), Revision: h.Revision, Blank: h.Blank,
		Packed: append([]byte(nil), f[2]...), Exact: h.Exact, Print: h.Print, Sketch: made,
		Text: sketch.Input{Title: cut(f[7]), Body: cut(f[8]), Published: h.Day}}
	if h.Published != 0 {
		a.Published = time.Unix(0, h.Published).UTC()
	}
	if n := len(f[9]) / 4; n > 0 {
		a.Text.Sentences = make([]int32, n)
		if _, err := binary.Decode(f[9], binary.LittleEndian, a.Text.Sentences); err != nil {
			return nil, ErrEncoding
		}
	}
	a.Text.Names = slices.Grow(a.Text.Names, len(f)-fixed)
	for _, n := range f[fixed:] {
		a.Text.Names = append(a.Text.Names, cut(n))
	}
	return a, nil
}

// BeatEvery is how often a segmenter says that it is there.
const BeatEvery = 500 * time.Millisecond

// Bounds of what a segmenter is asked. A request has at most Items, and none behind the one that reaches Bytes: some
// milliseconds of work. Depth is how many requests a worker has or waits for.
const (
	Items = 16
	Bytes = 128 << 10
	Depth = 3
)

// Beat is what a segmenter says about itself.
type Beat struct {
	ID      string `json:"id"`
	Terms   string `json:"recipe"`
	Workers int    `json:"workers"`
}

// Terms is what a service and its segmenters must have in common: the recipe and the version of the encoding.
func Terms(recipe string) string { return fmt.Sprint(recipe, "/", Version) }
