package sketch

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math/bits"
)

// version is that of the encoding. Version 1 had at most six passages. Version 2 is, integers little-endian:
//
//	version   1 byte; a blank text has no more than that
//	sizes     uvarints Tokens, shingles, soft shingles, figures
//	Digest    8 bytes
//	minima    48 bytes of shingles, 24 of soft shingles, 16 of figures
//	counts    1 byte: the number of keys in its lower half, of passages in its upper
//	keys      4 bytes each, then the passages, 4 bytes each
//	slots     1 byte, their number, then 3 bytes each: place (2), value (1)
const version = 2

// fixed is the least length of an encoding behind its sizes.
const fixed = 8 + (bins+softBins+factBins)/2 + 2

// slotRoom is how many slots fit beside the keys. Keys come first, since only what is proposed is judged.
func (s *Sketch) slotRoom() uint8 {
	used := 1 + fixed + 4*int(s.nkeys+s.npassages)
	for _, n := range [...]uint32{s.Tokens, s.shingles, s.soft, s.figures} {
		used += (bits.Len32(n|1) + 6) / 7
	}
	return uint8(min(maxSlots, (MaxEncoded-used)/3))
}

// ErrEncoding says that bytes are not an encoded sketch of a known version.
var ErrEncoding = errors.New("not an encoded sketch")

// AppendBinary appends the encoding of s, at most MaxEncoded bytes, to b.
func (s *Sketch) AppendBinary(b []byte) []byte {
	b = append(b, version)
	if s.Tokens == 0 {
		return b
	}
	for _, n := range [...]uint32{s.Tokens, s.shingles, s.soft, s.figures} {
		b = binary.AppendUvarint(b, uint64(n))
	}
	b = binary.LittleEndian.AppendUint64(b, s.Digest)
	b = append(b, s.mins[:]...)
	b = append(b, s.softMins[:]...)
	b = append(b, s.figureMins[:]...)
	b = append(b, s.nkeys|s.npassages<<4)
	for _, keys := range [...][]uint32{s.keys[:s.nkeys], s.passages[:s.npassages]} {
		for _, k := range keys {
			b = binary.LittleEndian.AppendUint32(b, k)
		}
	}
	b = append(b, s.nslots)
	for _, t := range s.slots[:s.nslots] {
		b = append(b, byte(t.place), byte(t.place>>8), t.value)
	}
	return b
}

// Decode reads an encoding. Damaged or hostile bytes give an error, never a panic or a large allocation.
func Decode(b []byte) (Sketch, error) {
	var s Sketch
	b, err := s.decodeSizes(b)
	if err != nil || s.Tokens == 0 {
		return Sketch{}, err
	}
	s.Digest = binary.LittleEndian.Uint64(b)
	b = b[8:]
	b = b[copy(s.mins[:], b):]
	b = b[copy(s.softMins[:], b):]
	b = b[copy(s.figureMins[:], b):]
	s.nkeys, s.npassages = b[0]&15, b[0]>>4
	b = b[1:]
	if s.nkeys > bands || s.npassages > passages || len(b) < 4*int(s.nkeys+s.npassages)+1 {
		return Sketch{}, fmt.Errorf("%w: bad keys", ErrEncoding)
	}
	for _, keys := range [...][]uint32{s.keys[:s.nkeys], s.passages[:s.npassages]} {
		for i := range keys {
			keys[i], b = binary.LittleEndian.Uint32(b), b[4:]
		}
	}
	s.nslots, b = b[0], b[1:]
	if s.nslots > maxSlots || len(b) != 3*int(s.nslots) {
		return Sketch{}, fmt.Errorf("%w: bad facts", ErrEncoding)
	}
	for i := range s.slots[:s.nslots] {
		s.slots[i] = slot{binary.LittleEndian.Uint16(b[3*i:]), b[3*i+2]}
	}
	return s, nil
}

// decodeSizes reads the sizes, all 0 of a blank text, and returns the rest, of at least fixed bytes otherwise.
func (s *Sketch) decodeSizes(b []byte) ([]byte, error) {
	if len(b) == 0 || b[0] != version && b[0] != 1 {
		return nil, fmt.Errorf("%w: unknown version", ErrEncoding)
	}
	if b = b[1:]; len(b) == 0 {
		return nil, nil
	}
	for _, n := range [...]*uint32{&s.Tokens, &s.shingles, &s.soft, &s.figures} {
		v, size := binary.Uvarint(b)
		if size <= 0 || v > 1<<28 {
			return nil, fmt.Errorf("%w: bad size", ErrEncoding)
		}
		*n, b = uint32(v), b[size:]
	}
	if s.Tokens == 0 || len(b) < fixed {
		return nil, fmt.Errorf("%w: cut short", ErrEncoding)
	}
	return b, nil
}

// Outline is the part of a Sketch that gives resemblance and containments, the same as Compare does. 52 bytes
// without pointers; index keeps it in memory for every version.
type Outline struct {
	Minima   Minima // of the shingles
	Shingles uint32 // the number of distinct ones; 0 only of a blank text
}

// Outline is that of a sketch.
func (s *Sketch) Outline() Outline { return Outline{s.mins, s.shingles} }

// DecodeOutline reads the outline of an encoding.
func DecodeOutline(b []byte) (Outline, error) {
	var s Sketch
	b, err := s.decodeSizes(b)
	if err != nil || s.Tokens == 0 {
		return Outline{}, err
	}
	copy(s.mins[:], b[8:])
	return s.Outline(), nil
}

// Overlap is the Resemblance, ContainedA and ContainedB of Compare; o is the later text's, minima and shingles
// are the other's.
func (o *Outline) Overlap(minima *Minima, shingles uint32) (resemblance, inO, inC float32) {
	j := estimate(o.Minima[:], minima[:])
	inO, inC = containment(j, o.Shingles, shingles)
	return float32(j), inO, inC
}
