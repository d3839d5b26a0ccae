package sketch

import (
	"encoding/binary"
	"fmt"
	"math/bits"
)

// Outline is the part of a Sketch that tells strangers: what it says of how
// much two texts have in common is what Compare says of their sketches, to the
// bit. 52 bytes without pointers.
type Outline struct {
	Minima   Minima // of the shingles
	Shingles uint32 // how many distinct ones; 0 only of a blank text
}

// Minima are two a byte, as they are encoded: 48 bytes.
type Minima [bins / 2]byte

// Outline is that of a sketch.
func (s *Sketch) Outline() Outline {
	o := Outline{Shingles: s.shingles}
	for i := range o.Minima {
		o.Minima[i] = s.mins[2*i] | s.mins[2*i+1]<<4
	}
	return o
}

// DecodeOutline reads that of an encoded sketch, in a tenth of the time that
// Decode takes.
func DecodeOutline(b []byte) (Outline, error) {
	var o Outline
	if len(b) == 0 || b[0] != version {
		return o, fmt.Errorf("%w: unknown version", ErrEncoding)
	}
	if b = b[1:]; len(b) == 0 {
		return o, nil
	}
	for i := range 4 {
		v, size := binary.Uvarint(b)
		if size <= 0 || v > 1<<28 {
			return Outline{}, fmt.Errorf("%w: bad size", ErrEncoding)
		}
		if b = b[size:]; i == 1 {
			o.Shingles = uint32(v)
		}
	}
	if len(b) < fixed {
		return Outline{}, fmt.Errorf("%w: cut short", ErrEncoding)
	}
	copy(o.Minima[:], b[8:])
	return o, nil
}

// Overlap is the Resemblance, ContainedA and ContainedB of Compare; o is the
// later text's, minima and shingles are the other's.
func (o *Outline) Overlap(minima *Minima, shingles uint32) (resemblance, inO, inC float32) {
	full, used, same := 0, 0, 0
	for i := 0; i < len(o.Minima); i += 8 {
		x, y := binary.LittleEndian.Uint64(o.Minima[i:]), binary.LittleEndian.Uint64(minima[i:])
		inX, inY := filled(x), filled(y)
		both := inX & inY
		full += bits.OnesCount64(both)
		used += bits.OnesCount64(inX | inY)
		same += bits.OnesCount64(both &^ filled(x^y))
	}
	j := jaccard(full, used, same)
	inO, inC = containment(j, o.Shingles, shingles)
	return float32(j), inO, inC
}

// filled sets the lowest bit of each nibble that is not 0.
func filled(x uint64) uint64 {
	x |= x >> 2
	x |= x >> 1
	return x & 0x1111111111111111
}
