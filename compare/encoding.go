package compare

import (
	"encoding/binary"
	"errors"
)

// version is that of the encoding of a sketch. Integers are little-endian:
//
//	version   1 byte; a blank text has no more than that
//	sizes     uvarints: tokens, and distinct shingles
//	minima    48 bytes
//	counts    1 byte: the number of keys in its lower half, of passages in its upper
//	keys      4 bytes each, then the passages, 4 bytes each
//
// Version 1 had two more sizes, eight bytes before the minima, and 40 behind them. They are passed over.
const version = 2

// AppendBinary appends the encoding of s, at most 140 bytes, to b.
func (s *Sketch) AppendBinary(b []byte) []byte {
	b = append(b, version)
	if s.Tokens == 0 {
		return b
	}
	b = binary.AppendUvarint(binary.AppendUvarint(b, uint64(s.Tokens)), uint64(s.Shingles))
	b = append(append(b, s.Minima[:]...), s.nkeys|s.npassages<<4)
	b, _ = binary.Append(b, binary.LittleEndian, s.keys[:s.nkeys+s.npassages]) // of a fixed size: no error
	return b
}

// ErrVersion says that a sketch is not of a version that DecodeSketch reads.
var ErrVersion = errors.New("not an encoded sketch: unknown version")

// DecodeSketch reads an encoding. Damaged or hostile bytes give an error, never a panic or a large allocation.
func DecodeSketch(b []byte) (s Sketch, err error) {
	wrong := func(what string) (Sketch, error) { return Sketch{}, errors.New("not an encoded sketch: " + what) }
	sizes, before, behind := []*uint32{&s.Tokens, &s.Shingles}, 0, 0
	if len(b) > 0 && b[0] == 1 {
		sizes, before, behind = append(sizes, new(uint32), new(uint32)), 8, 40
	} else if len(b) == 0 || b[0] != version {
		return s, ErrVersion
	}
	if b = b[1:]; len(b) == 0 {
		return s, nil
	}
	for _, n := range sizes {
		v, size := binary.Uvarint(b)
		if size <= 0 || v > 1<<28 {
			return wrong("bad size")
		}
		*n, b = uint32(v), b[size:]
	}
	if s.Tokens == 0 || len(b) <= before+len(s.Minima)+behind {
		return wrong("cut short")
	}
	b = b[before+copy(s.Minima[:], b[before:])+behind:]
	s.nkeys, s.npassages, b = b[0]&15, b[0]>>4, b[1:]
	if s.nkeys > bands || s.npassages > passages || len(b) != 4*int(s.nkeys+s.npassages) {
		return wrong("bad keys")
	}
	_, _ = binary.Decode(b, binary.LittleEndian, s.keys[:s.nkeys+s.npassages]) // of the length that was checked
	return s, nil
}
