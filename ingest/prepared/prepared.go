// Package prepared decodes articles that another process has prepared for a
// service (package encode): normal form, fingerprint with margins, sketch, packed text.
package prepared

import (
	"encoding/binary"
	"errors"
	"math"
	"time"

	"jianguo/index"
	"jianguo/simhash"
	"jianguo/sketch"
)

// Version is that of the encoding. Version 1 is the version byte, then fields, each with its
// length as a uvarint before it: recipe; revision, time of
// publication (Unix nanoseconds; 0: unknown), fingerprint, flags (1: blank, 2: kept), day of
// publication, 8 bytes each; hash; margins, 4 bytes each; id, title, source, url; packed text;
// sketch; normal title and body; names. Integers are little-endian.
const Version = 1

// fixed is the number of fields before the names.
const fixed = 16

// The flags of an article.
const (
	Blank = 1 << iota
	Kept
)

// ErrEncoding says that bytes are not an article of this version.
var ErrEncoding = errors.New("not a prepared article of a known version")

// Decode reads an encoding; the article does not refer to b. The error wraps ErrEncoding.
func Decode(b []byte) (a *index.Article, err error) {
	if len(b) == 0 || b[0] != Version {
		return nil, ErrEncoding
	}
	var f [][]byte
	for b = b[1:]; len(b) > 0; {
		n, size := binary.Uvarint(b)
		if size <= 0 || n > uint64(len(b)-size) {
			return nil, ErrEncoding
		}
		f, b = append(f, b[size:size+int(n)]), b[size+int(n):]
	}
	if len(f) < fixed || len(f[6]) != 16 || len(f[7]) != 4*simhash.Bits {
		return nil, ErrEncoding
	}
	var numbers [5]uint64
	for i := range numbers {
		if len(f[1+i]) != 8 {
			return nil, ErrEncoding
		}
		numbers[i] = binary.LittleEndian.Uint64(f[1+i])
	}
	a = &index.Article{Recipe: string(f[0]), Revision: int64(numbers[0]), Blank: numbers[3]&Blank != 0, Exact: [16]byte(f[6]),
		ID: string(f[8]), Title: string(f[9]), Source: string(f[10]), URL: string(f[11]),
		Text: sketch.Input{Title: string(f[14]), Body: string(f[15]), Published: int32(numbers[4])}}
	if numbers[1] != 0 {
		a.Published = time.Unix(0, int64(numbers[1])).UTC()
	}
	if numbers[3]&Kept != 0 {
		a.Packed = append([]byte{}, f[12]...)
	}
	a.Print.Fingerprint = simhash.Fingerprint(numbers[2])
	for i := range a.Print.Margins {
		a.Print.Margins[i] = math.Float32frombits(binary.LittleEndian.Uint32(f[7][4*i:]))
	}
	if a.Sketch, err = sketch.Decode(f[13]); err != nil {
		return nil, errors.Join(ErrEncoding, err)
	}
	for _, n := range f[fixed:] {
		a.Text.Names = append(a.Text.Names, string(n))
	}
	return a, nil
}

// BeatEvery is how often a segmenter says that it is there.
const BeatEvery = 500 * time.Millisecond

// Depth is how many items a worker of a segmenter has or waits for.
const Depth = 16

// Beat is what a segmenter says about itself.
type Beat struct {
	ID      string `json:"id"`
	Recipe  string `json:"recipe"`
	Workers int    `json:"workers"`
}
