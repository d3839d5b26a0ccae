package segment

import (
	"math"
	"math/bits"

	"github.com/zeebo/xxh3"
)

// weights decide how much a feature counts. They were chosen by measuring, on
// real articles, what share of copies and of edited texts lies below the S
// that lets one stranger in 10⁵ or 10⁶ through; TestMeasure prints it again.
//
//	word     (1 + ln tf) · idf; × single if it is one Han character, since
//	         those are what words fall apart into where a character is changed
//	number   (1 + ln tf) · number: numbers, dates and codes are what
//	         distinguishes bulletins, so they count, but less than a telling
//	         word
//	pair     two neighbouring words that are neither numbers nor stop words:
//	         (1 + ln tf) · the mean of their idf · min(1, pairs/words). A short
//	         text has too few words for 64 bits, and needs them; a long one
//	         bears edits better without
type weights struct {
	single, number, pairs float32
}

var shippedWeights = weights{single: 0.5, number: 4, pairs: 80}

// features counts the features of one text and weighs them.
type features struct {
	// slots is an open-addressing table from a feature's hash to its place in
	// counts: the upper half of the hash, and one more than the place; 0 is free.
	slots  []uint64
	counts []counted
}

type counted struct {
	hash       uint64
	start, end int32 // where it first stands in the content
	tf         int32
	weight     float32 // of one occurrence
}

// minWeight keeps every feature's weight above what simhash rounds to.
const minWeight = 1.0 / 64

// of fills t.Terms from the words of t's content.
func (f *features) of(t *Text, d *dictionary, w *weights) {
	f.begin(len(t.words))
	pairs := min(1, w.pairs/float32(len(t.words)))
	var before counted
	for _, x := range t.words {
		word := t.content[x.start:x.end]
		c := counted{hash: xxh3.Hash(word), start: x.start, end: x.end}
		if number(word) {
			c.weight = w.number
			f.count(c)
			before.hash = 0
			continue
		}
		c.weight = d.weight(x.node, c.hash)
		if c.weight == 0 {
			continue
		}
		if len(word) == 3 && word[0] >= 0xe0 {
			c.weight *= w.single
		}
		f.count(c)
		if before.hash != 0 {
			f.count(counted{hash: pair(before.hash, c.hash), start: before.start, end: x.end,
				weight: max(minWeight, pairs*(before.weight+c.weight)/2)})
		}
		before = c
	}
	if len(f.counts) == 0 {
		f.stopWords(t)
	}
	for i := range f.counts {
		c := &f.counts[i]
		t.Terms = append(t.Terms, Term{view(t.content[c.start:c.end]), c.hash, c.weight * damped(c.tf)})
	}
}

// stopWords counts the words of a text that has no others, so that only blank
// texts have no terms.
func (f *features) stopWords(t *Text) {
	for _, x := range t.words {
		f.count(counted{hash: xxh3.Hash(t.content[x.start:x.end]), start: x.start, end: x.end, weight: 1})
	}
}

// begin empties the counts, with room for the features of n words.
func (f *features) begin(n int) {
	f.counts = f.counts[:0]
	size := 4 << bits.Len(uint(n))
	if cap(f.slots) < size {
		f.slots = make([]uint64, size)
		return
	}
	// No more than are needed: a long text before would else leave a table
	// whose every slot is far away.
	f.slots = f.slots[:size]
	clear(f.slots)
}

func (f *features) count(c counted) {
	const upper = 0xffffffff << 32
	mask := uint64(len(f.slots) - 1)
	for i := c.hash & mask; ; i = (i + 1) & mask {
		s := f.slots[i]
		if s == 0 {
			c.tf = 1
			f.counts = append(f.counts, c)
			f.slots[i] = c.hash&upper | uint64(len(f.counts))
			return
		}
		if (s^c.hash)&upper == 0 {
			if x := &f.counts[uint32(s)-1]; x.hash == c.hash {
				x.tf++
				return
			}
		}
	}
}

// pair hashes two words in order, by their hashes.
func pair(a, b uint64) uint64 {
	hi, lo := bits.Mul64(a^0x9e3779b97f4a7c15, bits.RotateLeft64(b, 32)^0xd1b54a32d192ed03)
	return hi ^ lo
}

// damped is 1 + ln tf.
func damped(tf int32) float32 {
	if int(tf) < len(damping) {
		return damping[tf]
	}
	return float32(1 + math.Log(float64(tf)))
}

var damping = func() (t [64]float32) {
	for i := range t[1:] {
		t[i+1] = float32(1 + math.Log(float64(i+1)))
	}
	return
}()

// number reports whether a word is a number, date or code: a run of digits and
// letters with a digit in it.
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
