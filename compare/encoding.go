package compare

import (
	"encoding/binary"
	"errors"
	"fmt"
)

// version is that of the encoding of a sketch. Integers are little-endian:
//
//	version   1 byte; a blank text has no more than that
//	sizes     uvarints: tokens, and distinct shingles, pairs and numbers
//	Digest    8 bytes
//	minima    48 bytes of shingles, 24 of pairs, 16 of numbers
//	counts    1 byte: the number of keys in its lower half, of passages in its upper
//	keys      4 bytes each, then the passages, 4 bytes each
const version = 1

// fixedBytes is the length of an encoding behind its sizes, without keys.
const fixedBytes = 8 + (bins+pairBins+factBins)/2 + 1

// ErrEncoding says that bytes are not an encoded sketch of this version.
var ErrEncoding = errors.New("not an encoded sketch")

// AppendBinary appends the encoding of s, at most 194 bytes, to b.
func (s *Sketch) AppendBinary(b []byte) []byte {
	b = append(b, version)
	if s.Tokens == 0 {
		return b
	}
	for _, n := range [...]uint32{s.Tokens, s.Shingles, s.pairs, s.figures} {
		b = binary.AppendUvarint(b, uint64(n))
	}
	b = binary.LittleEndian.AppendUint64(b, s.Digest)
	b = append(b, s.Minima[:]...)
	b = append(b, s.pairMins[:]...)
	b = append(b, s.figureMins[:]...)
	b = append(b, s.nkeys|s.npassages<<4)
	b, _ = binary.Append(b, binary.LittleEndian, s.keys[:s.nkeys+s.npassages]) // of a fixed size: no error
	return b
}

// DecodeSketch reads an encoding. Damaged or hostile bytes give an error, never a panic or a large allocation.
func DecodeSketch(b []byte) (Sketch, error) {
	wrong := func(what string) (Sketch, error) { return Sketch{}, fmt.Errorf("%w: %s", ErrEncoding, what) }
	var s Sketch
	if len(b) == 0 || b[0] != version {
		return wrong("unknown version")
	}
	if b = b[1:]; len(b) == 0 {
		return s, nil
	}
	for _, n := range [...]*uint32{&s.Tokens, &s.Shingles, &s.pairs, &s.figures} {
		v, size := binary.Uvarint(b)
		if size <= 0 || v > 1<<28 {
			return wrong("bad size")
		}
		*n, b = uint32(v), b[size:]
	}
	if s.Tokens == 0 || len(b) < fixedBytes {
		return wrong("cut short")
	}
	s.Digest, b = binary.LittleEndian.Uint64(b), b[8:]
	b = b[copy(s.Minima[:], b):]
	b = b[copy(s.pairMins[:], b):]
	b = b[copy(s.figureMins[:], b):]
	s.nkeys, s.npassages, b = b[0]&15, b[0]>>4, b[1:]
	if s.nkeys > bands || s.npassages > passages || len(b) != 4*int(s.nkeys+s.npassages) {
		return wrong("bad keys")
	}
	_, _ = binary.Decode(b, binary.LittleEndian, s.keys[:s.nkeys+s.npassages]) // of the length that was checked
	return s, nil
}
