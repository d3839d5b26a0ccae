// Package sketch keeps what is needed of a text to judge it against another one, and judges.
//
// A Sketch is at most MaxEncoded bytes: b-bit one-permutation MinHash of the text's shingles (Li, Owen & Zhang
// 2012; Li & König 2010) at two lengths, the numbers of shingles, which together give resemblance and
// containment both ways (Broder 1997), and a digest of the facts: which figure stands in which place. Compare
// estimates a Comparison from two sketches, CompareTexts measures it on the texts, and Judge decides either.
//
// Everything is a pure function of its input and safe for concurrent use. Sketches are compatible within one
// encoding version; Decode refuses others.
package sketch

// MaxEncoded is the most bytes AppendBinary adds.
const MaxEncoded = 200

// Sizes of the parts of a sketch. They are part of the encoding version.
const (
	shingleK = 4 // tokens a shingle
	softK    = 2 // tokens a soft shingle, a pair: rewording keeps most pairs, other content few
	bins     = 96
	softBins = 48
	factBins = 32
	maxSlots = 20

	bands    = 12 // keys of a short text
	passages = 7  // keys of passages, the last one of the opening
)

// Sketch is at most MaxEncoded bytes when encoded. The zero Sketch is that of a blank text. It holds no
// pointers.
type Sketch struct {
	// Tokens counts the text's units: Han characters, Latin words, figures.
	Tokens uint32
	// Digest is a hash of the set of figures and dates, zero where there are none: two members of a series with
	// one digest are likely copies.
	Digest uint64

	shingles, soft uint32 // distinct shingles
	figures        uint32 // distinct figures
	mins           Minima
	softMins       [softBins / 2]byte
	figureMins     [factBins / 2]byte
	slots          [maxSlots]slot
	nslots         uint8
	keys           [bands]uint32
	passages       [passages]uint32
	nkeys          uint8
	npassages      uint8
}

// slot is a place for a figure (a hash of the words around it) and a hash of the figure that stands there.
type slot struct {
	place uint16
	value uint8
}

// Minima are those of the shingles, 48 bytes: the lowest hash in each bin, cut to 4 bits, two bins a byte, the
// lower half first; 0 for an empty bin.
type Minima [bins / 2]byte
