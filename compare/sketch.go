package compare

import (
	"encoding/binary"
	"math/bits"
	"slices"
)

// Sizes of the parts of a sketch. They are part of the encoding.
const (
	shingleK = 4 // tokens of a shingle
	bins     = 96
	bands    = 12 // keys of a short text
	passages = 8  // keys of passages: six of the lowest, of the opening, of the figures
)

// Sketch is what is kept of every text, at most 140 bytes when encoded: b-bit one-permutation MinHash (Li, Owen
// & Zhang 2012; Li & König 2010) of its shingles, their count, and the keys by which it is proposed. It ranks
// proposals, and never decides. The zero Sketch is that of a blank text. It holds no pointers.
type Sketch struct {
	Tokens uint32
	Outline
	keys             [bands + passages]uint32 // so many of a short text, then so many of passages
	nkeys, npassages uint8
}

// Outline is the part of a Sketch that gives resemblance and containments. 52 bytes without pointers; index keeps it
// in memory for every version.
type Outline struct {
	// Minima are those of the shingles: the lowest hash in each bin, cut to 4 bits, two bins a byte, the lower half
	// first; 0 for an empty bin.
	Minima   [bins / 2]byte
	Shingles uint32 // distinct ones; 0 only of a blank text
}

func NewSketch(text *Text) (s Sketch) {
	form := text.Form()
	tokens := tokensOf(form)
	if len(tokens) == 0 {
		return s
	}
	s.Tokens = uint32(len(tokens))
	hashes := appendShingles(make([]uint64, 0, len(tokens)), tokens, min(shingleK, len(tokens)))
	s.minhash(hashes)
	s.keepKeys(tokens, hashes)
	var figures []uint64
	for i, t := range tokens {
		if t.number() && !enumerates(form, tokens, i) {
			figures = append(figures, mix(uint64(t.id)))
		}
	}
	slices.Sort(figures)
	if figures = slices.Compact(figures); len(figures) >= leastFigures {
		digest := uint64(0)
		for _, h := range figures {
			digest = mix(digest ^ h)
		}
		s.keepPassage(digest)
	}
	return s
}

// enumerates reports whether a number is alone in its clause and of one or two digits: that of a list item.
func enumerates(form string, tokens []token, i int) bool {
	t := tokens[i]
	begins := t.start == 0 || form[t.start-1] == '\n'
	ends := int(t.end) == len(form) || form[t.end] == '\n'
	return begins && ends && t.end-t.start <= 2
}

// minhash fills an outline, which is zero.
func (o *Outline) minhash(hashes []uint64) {
	var least [bins]uint64
	for _, h := range hashes {
		at := pick(h, bins)
		if m := mix(h) | 1; least[at] == 0 || m < least[at] {
			least[at] = m
		}
	}
	for b, m := range least {
		if m != 0 {
			o.Minima[b/2] |= byte(1+pick(mix(m), 15)) << (b % 2 * 4)
		}
	}
	o.Shingles = uint32(countDistinct(hashes))
}

// Estimate is what two sketches tell of two texts.
type Estimate struct {
	Resemblance    float32 // Jaccard coefficient of the shingles
	Later, Earlier float32 // share of the shingles of each text that the other one has
}

// jaccard is the estimate from two rows of minima. Bins that are empty on both sides say nothing, and of two full ones
// one in fifteen agrees by chance.
func jaccard(a, b *[bins / 2]byte) float64 {
	full, used, same := 0, 0, 0
	for i := 0; i < len(a); i += 8 {
		x, y := binary.LittleEndian.Uint64(a[i:]), binary.LittleEndian.Uint64(b[i:])
		inX, inY := filled(x), filled(y)
		both := inX & inY
		full += bits.OnesCount64(both)
		used += bits.OnesCount64(inX | inY)
		same += bits.OnesCount64(both &^ filled(x^y))
	}
	if used == 0 {
		return 0
	}
	const chance = 1. / 15
	return min(1, max(0, (float64(same)-chance*float64(full))/(float64(used)*(1-chance))))
}

// filled sets the lowest bit of each half byte that is not 0.
func filled(x uint64) uint64 {
	x |= x >> 2
	x |= x >> 1
	return x & 0x1111111111111111
}

// Overlap compares the outline of a later text with that of an earlier one.
func (o *Outline) Overlap(earlier *Outline) Estimate {
	j := jaccard(&o.Minima, &earlier.Minima)
	shared := j / (1 + j) * float64(o.Shingles+earlier.Shingles)
	share := func(of uint32) float32 { return float32(min(1, shared/float64(max(of, 1)))) }
	return Estimate{Resemblance: float32(j), Later: share(o.Shingles), Earlier: share(earlier.Shingles)}
}
