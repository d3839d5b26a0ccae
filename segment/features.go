package segment

import (
	"math"
	"math/bits"
	"slices"

	"github.com/zeebo/xxh3"

	"jianguo/segment/cut"
)

// Term is one weighted feature of a text.
type Term struct {
	Text   string  // the words as they stand in the content
	Hash   uint64  // xxh3 of the word, or a mixture of two words' hashes; for simhash.Sum
	Weight float32 // > 0
}

// These weights decide how much a feature counts. They were chosen on real articles, by the share of copies and of
// edited texts below the S that one unrelated text in 10⁵ or 10⁶ reaches.
//
//	word     (1 + ln tf) · idf; × ofSingle if it is one Han character, since an edited word falls apart into
//	         single characters
//	number   (1 + ln tf) · ofNumber: numbers, dates and codes distinguish bulletins, but less than rare words
//	pair     two neighbouring words that are neither numbers nor stop words: (1 + ln tf) · the mean of their
//	         idf · min(1, ofPairs/words). A short text has too few words for 64 bits and needs the pairs; a
//	         long text is more robust to edits without them
const ofSingle, ofNumber, ofPairs = 0.5, 4, 80

// features counts the features of one text and weighs them.
type features struct {
	// slots is an open-addressing table from a feature's hash to its index in counts: the upper half of the
	// hash, and the index plus one; 0 is free. Unlike a map it is no larger than the text at hand needs, so a
	// long text does not make all later ones slower.
	slots  []uint64
	counts []counted
}

type counted struct {
	hash       uint64
	start, end int32 // its first occurrence in the content
	tf         int32
	weight     float32 // of one occurrence
}

// minWeight keeps every feature's weight above what simhash rounds to.
const minWeight = 1.0 / 64

// appendTerms appends the features of a content that consists of these words.
func (f *features) appendTerms(dst []Term, content []byte, words []cut.Token, l *lexicon) []Term {
	f.counts = f.counts[:0]
	size := 4 << bits.Len(uint(len(words)))
	f.slots = slices.Grow(f.slots[:0], size)[:size]
	clear(f.slots)
	pairs := min(1, ofPairs/float32(len(words)))
	var before counted
	for _, x := range words {
		word := content[x.Start:x.End]
		c := counted{hash: xxh3.Hash(word), start: x.Start, end: x.End}
		if number(word) {
			c.weight = ofNumber
			f.count(c)
			before.hash = 0
			continue
		}
		c.weight = l.weight(c.hash)
		if c.weight == 0 {
			continue
		}
		if len(word) == 3 && word[0] >= 0xe0 {
			c.weight *= ofSingle
		}
		f.count(c)
		if before.hash != 0 {
			f.count(counted{hash: pair(before.hash, c.hash), start: before.start, end: x.End,
				weight: max(minWeight, pairs*(before.weight+c.weight)/2)})
		}
		before = c
	}
	if len(f.counts) == 0 { // only stop words: they count here, so that only blank texts have no terms
		for _, x := range words {
			f.count(counted{hash: xxh3.Hash(content[x.Start:x.End]), start: x.Start, end: x.End, weight: 1})
		}
	}
	for i := range f.counts {
		c := &f.counts[i]
		dst = append(dst, Term{view(content[c.start:c.end]), c.hash, c.weight * damped(c.tf)})
	}
	return dst
}

func (f *features) count(c counted) {
	const upper = 0xffffffff << 32
	mask := uint64(len(f.slots) - 1)
	i := c.hash & mask
	for ; f.slots[i] != 0; i = (i + 1) & mask {
		if (f.slots[i]^c.hash)&upper == 0 {
			if x := &f.counts[uint32(f.slots[i])-1]; x.hash == c.hash {
				x.tf++
				return
			}
		}
	}
	c.tf = 1
	f.counts = append(f.counts, c)
	f.slots[i] = c.hash&upper | uint64(len(f.counts))
}

// pair is the hash of two words in order, from their hashes.
func pair(a, b uint64) uint64 {
	hi, lo := bits.Mul64(a^0x9e3779b97f4a7c15, bits.RotateLeft64(b, 32)^0xd1b54a32d192ed03)
	return hi ^ lo
}

// damped is 1 + ln tf.
func damped(tf int32) float32 {
	if tf == 1 {
		return 1
	}
	return float32(1 + math.Log(float64(tf)))
}

// number reports whether a word is a number, date or code: a run of digits and letters with a digit in it.
func number(word []byte) bool {
	for _, b := range word {
		if b >= 0xe0 {
			return false
		}
		if b >= '0' && b <= '9' {
			return true
		}
	}
	return false
}
