package segment

import (
	"math"
	"math/bits"

	"github.com/zeebo/xxh3"
)

// features counts the features of one text and weighs them.
type features struct {
	// slots is an open-addressing table from a feature's hash to 1 + its index
	// in counts; a slot of another round is free.
	slots  []slot
	round  uint32
	counts []counted
}

type slot struct {
	hash  uint64
	round uint32
	index int32
}

type counted struct {
	hash       uint64
	start, end int32 // where it first stands in the content
	tf         int32
	idf        float32
}

// tuning are the numbers that decide the weights; tests vary them.
type tuning struct {
	bigram float32 // weight of a pair of words against single words; 0: none
}

var tuned = tuning{bigram: 0.5}

// of fills t's Terms and Names from the words of its content.
func (f *features) of(t *Text, d *dictionary) {
	f.begin(len(t.words))
	var before counted
	for _, w := range t.words {
		word := t.content[w.start:w.end]
		if w.node != 0 && d.name[d.trie.pos[w.node]] {
			t.Names = append(t.Names, view(word))
		}
		if number(word) {
			before.hash = 0
			continue
		}
		c := counted{hash: xxh3.Hash(word), start: w.start, end: w.end}
		var idf uint8
		if w.node != 0 {
			idf = d.idf[w.node]
		} else if v, ok := d.others[c.hash]; ok {
			idf = v
		} else {
			idf = d.rarest
		}
		if idf == 0 {
			continue
		}
		c.idf = float32(idf) / idfUnit
		f.count(c)
		if tuned.bigram > 0 {
			if before.hash != 0 {
				f.count(counted{hash: pair(before.hash, c.hash), start: before.start, end: w.end,
					idf: tuned.bigram * (before.idf + c.idf) / 2})
			}
			before = c
		}
	}
	for i := range f.counts {
		c := &f.counts[i]
		t.Terms = append(t.Terms, Term{view(t.content[c.start:c.end]), c.hash, c.idf * damped(c.tf)})
	}
}

// begin empties the counts, with room for the features of n words.
func (f *features) begin(n int) {
	f.counts = f.counts[:0]
	if size := 4 << bits.Len(uint(n)); len(f.slots) < size {
		f.slots = make([]slot, size)
		f.round = 0
	}
	if f.round++; f.round == 0 {
		clear(f.slots)
		f.round = 1
	}
}

func (f *features) count(c counted) {
	mask := uint64(len(f.slots) - 1)
	for i := c.hash & mask; ; i = (i + 1) & mask {
		s := &f.slots[i]
		if s.round != f.round {
			*s = slot{c.hash, f.round, int32(len(f.counts))}
			c.tf = 1
			f.counts = append(f.counts, c)
			return
		}
		if s.hash == c.hash {
			f.counts[s.index].tf++
			return
		}
	}
}

// pair hashes two words in order.
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

// number reports whether a word is a number, date or code: it has a digit.
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
