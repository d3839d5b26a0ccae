// Package sketch keeps of a text what is needed to judge it against another,
// and judges.
//
// A Sketch is at most MaxEncoded bytes: b-bit one-permutation MinHash of the
// text's shingles (Li, Owen & Zhang 2012; Li & König 2010) at two lengths,
// sizes, which together give resemblance and containment both ways (Broder
// 1997), and a digest of the facts: which figure stands in which place.
// Compare estimates a Comparison from two sketches, CompareTexts measures it
// on the texts, and Judge decides either.
//
// Everything is a pure function of its input and safe for concurrent use.
// Sketches are compatible within one encoding version; Decode refuses others.
package sketch

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math/bits"
	"slices"
	"time"
)

// MaxEncoded is the most bytes AppendBinary adds.
const MaxEncoded = 200

// Sizes of the parts of a sketch. They are part of the encoding version.
const (
	shingleK = 4 // tokens a shingle
	softK    = 2 // tokens a soft shingle: survives rewording, tells new content
	bins     = 96
	softBins = 48
	factBins = 32
	maxSlots = 20
)

// Input is what a sketch is made from: segment.Text without its fingerprint.
type Input struct {
	Title, Body string   // normal forms, clauses separated by '\n'
	Names       []string // place, company and person names
	// Published is the day it was published, in days since 1970; 0 is unknown.
	// Only CompareTexts looks at it.
	Published int32
}

// Day is the day of a time, for Input.Published; unknown for the zero time.
func Day(t time.Time) int32 {
	if t.IsZero() {
		return 0
	}
	return int32(t.Unix() / (24 * 60 * 60))
}

// shortBody is the length in bytes (a Han character is three) below which a
// body does not speak for itself, and has its headline put before it.
const shortBody = 180

// headed says that the headline is compared with the body.
func (in *Input) headed() bool { return len(in.Body) < shortBody && in.Title != in.Body }

// text is what is compared.
func (in *Input) text() string {
	if in.headed() {
		return in.Title + "\n" + in.Body
	}
	return in.Body
}

// Sketch is at most MaxEncoded bytes when encoded. The zero Sketch is that of
// a blank text. It holds no pointers.
type Sketch struct {
	// Tokens counts the text's units: Han characters, Latin words, figures.
	Tokens uint32
	// Digest is a hash of the set of figures and dates, zero where there are
	// none: two members of a series with one digest are likely copies.
	Digest uint64

	shingles, soft uint32 // distinct shingles
	figures        uint32 // distinct figures
	mins           [bins]byte
	softMins       [softBins]byte
	figureMins     [factBins]byte
	slots          [maxSlots]slot
	nslots         uint8
	keys           [bands]uint32
	passages       [passages]uint32
	nkeys          uint8
	npassages      uint8
}

// slot is a place for a figure (a hash of the words around it) and a hash of
// the figure that stands there.
type slot struct {
	place uint16
	value uint8
}

// Make builds the sketch of a text.
func Make(in Input) Sketch {
	w := workspaces.Get().(*workspace)
	defer w.release()
	w.q.tokens = appendTokens(w.q.tokens[:0], in.text())
	var s Sketch
	if len(w.q.tokens) == 0 {
		return s
	}
	s.Tokens = uint32(len(w.q.tokens))
	s.shingles = minhash(&w.shingles, w.q.tokens, shingleK, s.mins[:])
	s.keepKeys(w.q.tokens, &w.shingles)
	s.soft = minhash(&w.pairs, w.q.tokens, softK, s.softMins[:])
	w.facts = appendFacts(w.facts[:0], w.q.tokens)
	s.keepFacts(w)
	return s
}

// minhash fills bins with 4-bit minima, 0 for an empty one, and returns the
// number of distinct shingles. A text shorter than k is one shingle.
func minhash(table *grams, tokens []token, k int, bins []byte) uint32 {
	if len(tokens) == 0 {
		return 0
	}
	k = min(k, len(tokens))
	table.reset(len(tokens))
	var least [bins_]uint64
	sh := newShingler(k)
	for i := range tokens {
		h, ok := sh.next(tokens, i)
		if !ok {
			continue
		}
		if _, fresh := table.put(h); fresh {
			b := pick(h, len(bins))
			if rest := mix(h) | 1; least[b] == 0 || rest < least[b] {
				least[b] = rest
			}
		}
	}
	for b := range bins {
		bins[b] = 0
		if least[b] != 0 {
			bins[b] = nibble(least[b])
		}
	}
	return uint32(table.used)
}

const bins_ = max(bins, softBins, factBins)

// nibble is 1…15: zero is kept for an empty bin.
func nibble(h uint64) byte { return byte(1 + pick(mix(h), 15)) }

// keepFacts keeps the facts whose places hash lowest, so that two texts keep
// the same places where both have them.
func (s *Sketch) keepFacts(w *workspace) {
	var least [factBins]uint64
	w.q.numbers = w.q.numbers[:0]
	for _, f := range w.facts {
		w.q.numbers = append(w.q.numbers, f.value)
	}
	slices.Sort(w.q.numbers)
	w.q.numbers = slices.Compact(w.q.numbers)
	for _, v := range w.q.numbers {
		s.Digest += mix(v)
		b := pick(mix(v+1), factBins)
		if rest := mix(v+2) | 1; least[b] == 0 || rest < least[b] {
			least[b] = rest
		}
	}
	for b := range least {
		if least[b] != 0 {
			s.figureMins[b] = nibble(least[b])
		}
	}
	s.figures = uint32(len(w.q.numbers))
	slices.SortStableFunc(w.facts, func(a, b fact) int { return int(a.place) - int(b.place) })
	room := s.slotRoom()
	last := -1
	for _, f := range w.facts {
		if int(f.place) == last {
			continue
		}
		last = int(f.place)
		if s.nslots == room {
			break
		}
		s.slots[s.nslots] = slot{f.place, byte(f.value >> 56)}
		s.nslots++
	}
}

// The encoding, version 1: the version byte; uvarints Tokens, shingles, soft,
// figures; Digest, 8 bytes little-endian; then the bins, two a byte, low half
// first: 48 bytes of shingles, 24 of soft shingles, 16 of figures; a byte with
// the number of keys (low half) and of passages; these, 4 bytes each; the
// number of slots, and each as 3 bytes: place (little-endian), value. A blank
// text is the version byte alone.
const version = 1

// fixed is what an encoding has at least after its uvarints.
const fixed = 8 + (bins+softBins+factBins)/2 + 2

// slotRoom is how many slots fit: keys come first, since what is not met is
// not judged.
func (s *Sketch) slotRoom() uint8 {
	used := 1 + fixed + 4*int(s.nkeys+s.npassages)
	for _, n := range [...]uint32{s.Tokens, s.shingles, s.soft, s.figures} {
		used += (bits.Len32(n|1) + 6) / 7
	}
	return uint8(min(maxSlots, (MaxEncoded-used)/3))
}

// ErrEncoding says that bytes are not an encoded sketch of a known version.
var ErrEncoding = errors.New("not an encoded sketch")

// AppendBinary appends the versioned encoding of s to b (at most MaxEncoded
// bytes).
func (s *Sketch) AppendBinary(b []byte) []byte {
	b = append(b, version)
	if s.Tokens == 0 {
		return b
	}
	for _, n := range [...]uint32{s.Tokens, s.shingles, s.soft, s.figures} {
		b = binary.AppendUvarint(b, uint64(n))
	}
	b = binary.LittleEndian.AppendUint64(b, s.Digest)
	b = appendNibbles(b, s.mins[:])
	b = appendNibbles(b, s.softMins[:])
	b = appendNibbles(b, s.figureMins[:])
	b = append(b, s.nkeys|s.npassages<<4)
	for _, k := range s.keys[:s.nkeys] {
		b = binary.LittleEndian.AppendUint32(b, k)
	}
	for _, k := range s.passages[:s.npassages] {
		b = binary.LittleEndian.AppendUint32(b, k)
	}
	b = append(b, s.nslots)
	for _, t := range s.slots[:s.nslots] {
		b = append(b, byte(t.place), byte(t.place>>8), t.value)
	}
	return b
}

func appendNibbles(b, bins []byte) []byte {
	for i := 0; i < len(bins); i += 2 {
		b = append(b, bins[i]|bins[i+1]<<4)
	}
	return b
}

// Decode reads what AppendBinary wrote. Hostile bytes give an error, never a
// panic or a large allocation.
func Decode(b []byte) (Sketch, error) {
	var s Sketch
	if len(b) == 0 || b[0] != version {
		return s, fmt.Errorf("%w: unknown version", ErrEncoding)
	}
	if b = b[1:]; len(b) == 0 {
		return s, nil
	}
	for _, n := range [...]*uint32{&s.Tokens, &s.shingles, &s.soft, &s.figures} {
		v, size := binary.Uvarint(b)
		if size <= 0 || v > 1<<28 {
			return Sketch{}, fmt.Errorf("%w: bad size", ErrEncoding)
		}
		*n, b = uint32(v), b[size:]
	}
	if s.Tokens == 0 || len(b) < fixed {
		return Sketch{}, fmt.Errorf("%w: cut short", ErrEncoding)
	}
	s.Digest = binary.LittleEndian.Uint64(b)
	b = readNibbles(s.mins[:], b[8:])
	b = readNibbles(s.softMins[:], b)
	b = readNibbles(s.figureMins[:], b)
	s.nkeys, s.npassages = b[0]&15, b[0]>>4
	b = b[1:]
	if s.nkeys > bands || s.npassages > passages || len(b) < 4*int(s.nkeys+s.npassages)+1 {
		return Sketch{}, fmt.Errorf("%w: bad keys", ErrEncoding)
	}
	b = readKeys(s.keys[:s.nkeys], b)
	b = readKeys(s.passages[:s.npassages], b)
	s.nslots, b = b[0], b[1:]
	if s.nslots > maxSlots || len(b) != 3*int(s.nslots) {
		return Sketch{}, fmt.Errorf("%w: bad facts", ErrEncoding)
	}
	for i := range s.slots[:s.nslots] {
		s.slots[i] = slot{binary.LittleEndian.Uint16(b[3*i:]), b[3*i+2]}
	}
	return s, nil
}

func readKeys(keys []uint32, b []byte) []byte {
	for i := range keys {
		keys[i] = binary.LittleEndian.Uint32(b[4*i:])
	}
	return b[4*len(keys):]
}

func readNibbles(bins, b []byte) []byte {
	for i := 0; i < len(bins); i += 2 {
		bins[i], bins[i+1] = b[i/2]&15, b[i/2]>>4
	}
	return b[len(bins)/2:]
}
