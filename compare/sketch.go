package compare

import (
	"encoding/binary"
	"math/bits"
	"slices"
	"sync"
)

// Sizes of the parts of a sketch. They are part of the encoding.
const (
	shingleK = 4 // tokens of a shingle
	pairK    = 2 // tokens of a pair: rewording keeps most pairs, other content few
	bins     = 96
	pairBins = 48
	factBins = 32

	bands    = 12 // keys of a short text
	passages = 7  // keys of passages, the last one of the opening
)

// Sketch is what is kept of every text, at most 194 bytes when encoded: b-bit one-permutation MinHash (Li, Owen
// & Zhang 2012; Li & König 2010) of its shingles, pairs and numbers, their counts, and the keys by which it is
// proposed. It ranks proposals, and never decides. The zero Sketch is that of a blank text. It holds no pointers.
type Sketch struct {
	Tokens uint32
	// Digest is a hash of the set of numbers and dates, zero where there are none: two members of a series with one
	// digest are likely copies.
	Digest uint64

	Outline
	pairs, figures   uint32 // distinct ones
	pairMins         [pairBins / 2]byte
	figureMins       [factBins / 2]byte
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

// buffer is the memory of NewSketch.
type buffer struct {
	tokens []token
	hashes []uint64
}

var buffers = sync.Pool{New: func() any { return new(buffer) }}

// NewSketch sketches a text.
func NewSketch(text *Text) Sketch {
	var s Sketch
	form, b := text.Form(), buffers.Get().(*buffer)
	defer buffers.Put(b)
	b.tokens = appendTokens(b.tokens[:0], form)
	tokens := b.tokens
	if len(tokens) == 0 {
		return s
	}
	s.Tokens = uint32(len(tokens))
	b.hashes = appendShingles(slices.Grow(b.hashes[:0], len(tokens)), tokens, min(shingleK, len(tokens)))
	hashes := b.hashes
	s.Shingles = minhash(hashes, s.Minima[:])
	s.keepKeys(tokens, hashes)
	pairs := appendShingles(hashes[:0], tokens, min(pairK, len(tokens)))
	s.pairs = minhash(pairs, s.pairMins[:])
	var figures []uint64
	for i, t := range tokens {
		if t.number() && !enumerates(form, tokens, i) {
			figures = append(figures, mix(uint64(t.id)))
		}
	}
	slices.Sort(figures)
	figures = slices.Compact(figures)
	for _, h := range figures {
		s.Digest += mix(h)
	}
	s.figures = minhash(figures, s.figureMins[:])
	return s
}

// enumerates reports whether a number is alone in its clause and of one or two digits: that of a list item.
func enumerates(form string, tokens []token, i int) bool {
	t := tokens[i]
	begins := t.start == 0 || form[t.start-1] == '\n'
	ends := int(t.end) == len(form) || form[t.end] == '\n'
	return begins && ends && t.end-t.start <= 2
}

// minhash fills minima, which are zero, and returns the number of distinct hashes.
func minhash(hashes []uint64, minima []byte) uint32 {
	var least [bins]uint64
	for _, h := range hashes {
		at := pick(h, 2*len(minima))
		if m := mix(h) | 1; least[at] == 0 || m < least[at] {
			least[at] = m
		}
	}
	for b := range 2 * len(minima) {
		if least[b] != 0 {
			minima[b/2] |= byte(1+pick(mix(least[b]), 15)) << (b % 2 * 4)
		}
	}
	return uint32(countDistinct(hashes))
}

// Estimate is what two sketches tell of two texts.
type Estimate struct {
	Resemblance    float32 // Jaccard coefficient of the shingles
	Later, Earlier float32 // share of the shingles of each text that the other one has
	Rank           float32 // the higher, the likelier a copy
}

// Estimate compares the sketch of a later text with that of an earlier one.
func (s *Sketch) Estimate(earlier *Sketch) Estimate {
	e := s.Overlap(&earlier.Outline)
	e.Rank, _ = containment(jaccard(s.pairMins[:], earlier.pairMins[:]), s.pairs, earlier.pairs)
	if s.figures > 0 {
		inLater, _ := containment(jaccard(s.figureMins[:], earlier.figureMins[:]), s.figures, earlier.figures)
		e.Rank = (e.Rank + inLater) / 2
	} else if earlier.figures > 0 {
		e.Rank /= 2
	}
	if s.figures > 0 && s.Digest == earlier.Digest {
		e.Rank++
	}
	return e
}

// jaccard is the estimate from two rows of minima, of a multiple of eight bytes. Bins that are empty on both sides
// say nothing, and of two full ones one in fifteen agrees by chance.
func jaccard(a, b []byte) float64 {
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

// containment turns a Jaccard coefficient and the sizes of two sets into the share of each that the other has.
func containment(j float64, a, b uint32) (inA, inB float32) {
	shared := j / (1 + j) * float64(a+b)
	return float32(min(1, shared/float64(max(a, 1)))), float32(min(1, shared/float64(max(b, 1))))
}

// Overlap is Estimate without Rank; o is the later text's.
func (o *Outline) Overlap(earlier *Outline) Estimate {
	j := jaccard(o.Minima[:], earlier.Minima[:])
	inLater, inEarlier := containment(j, o.Shingles, earlier.Shingles)
	return Estimate{Resemblance: float32(j), Later: inLater, Earlier: inEarlier}
}
