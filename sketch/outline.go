package sketch

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
