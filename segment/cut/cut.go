// Package cut cuts text into words as gse's Segment does: of all ways to cut, it takes the most probable words
// (the shortest path, where a word is log2(total/frequency) long and a character that is no word 32). The
// words, their frequencies and their parts of speech are gse's, and so are user dictionaries.
//
// It is not a call of gse.Segment for four reasons.
//
//   - Speed: gse allocates several times a text and walks its trie byte by byte. On the bundled sample Cut
//     takes a tenth of the time and allocates nothing (go test -run '^$' -bench Cut ./segment/cut).
//   - Start: gse builds its trie word by word, in more than a second; the prebuilt dictionary is ready in
//     15 ms (go test -run '^$' -bench Load ./segment/cut).
//   - Memory: 7 MB instead of 133 MB (the same command).
//   - Ties: gse adds float32 lengths up from the beginning of the text, so among equally good ways its choice
//     depends on all the text before. Cut starts again at 0 wherever no word crosses a point, so a sentence
//     is cut the same way wherever it stands.
//
// It also takes a figure with punctuation in it (3.5%, 12:30) for one word.
//
// The tests compare it with gse word for word: between any two points that no word crosses both give the same
// words, on the bundled sample, on random texts, with random user dictionaries, and on every article of the
// real corpus (make quality).
package cut

import (
	"bytes"
	"slices"
	"unicode"
	"unicode/utf8"
)

// A Token is a word in a text: text[Start:End].
type Token struct {
	Start, End int32
	Word       int32 // its number in the dictionary, 0 where the dictionary does not have it
}

// A Cutter holds the buffers of Cut, which allocates nothing once they have grown. The zero value is ready; it
// is not safe for concurrent use.
type Cutter struct {
	chars  []char
	best   []hop
	tokens []Token
}

// A char is a character of the text: a rune, or a run of Latin letters and digits.
type char struct {
	start int32
	code  uint16
	gap   bool // a space lies before it, which no word crosses
}

// A hop is the best way to the end of a character.
type hop struct {
	distance float32
	from     int32 // the character where the last word begins
	word     int32
}

// unknown is the path length of a character that is no word.
const unknown = 32

// Cut returns the words of text in order: lower-case letters, digits, the punctuation inside numbers and single
// spaces, as in a normal form without clause breaks. The result is valid until the next call.
func (c *Cutter) Cut(d *Dictionary, text []byte) []Token {
	c.tokens = c.tokens[:0]
	c.split(d, text)
	n := len(c.chars) - 1 // the last one marks the end
	if cap(c.best) < n {
		c.best = make([]hop, n+n/4)
	}
	best := c.best[:n]
	clear(best)
	start, reach := 0, 0
	var base float32
	for i := range n {
		if i >= reach && i > 0 { // no word crosses this point
			c.trace(best, start, i)
			start, base = i, 0
		} else if i > start {
			base = best[i-1].distance
		}
		reach = max(reach, i+d.step(c.chars[i:n], best[i:], base, int32(i)))
	}
	c.trace(best, start, n)
	return c.tokens
}

// trace appends the words on the best path through the characters from start to end.
func (c *Cutter) trace(best []hop, start, end int) {
	first := len(c.tokens)
	for i := end; i > start; {
		h, next := best[i-1], c.chars[i]
		i = int(h.from)
		t := Token{Start: c.chars[i].start, End: next.start, Word: h.word}
		if next.gap {
			t.End--
		}
		c.tokens = append(c.tokens, t)
	}
	slices.Reverse(c.tokens[first:])
}

// step extends the paths that reach the first character by every word that begins there, and returns how many
// characters the longest one has.
func (d *Dictionary) step(chars []char, best []hop, base float32, from int32) int {
	p := d.child(0, chars[0].code)
	if d.nodes[p].freq == 0 {
		best[0].improve(base+unknown, from, 0)
	}
	reach := 1
	for k := 0; p != 0; p = d.child(p, chars[k].code) {
		if f := d.nodes[p].freq; f != 0 {
			best[k].improve(base+d.distances[f], from, p)
			reach = k + 1
		}
		if k++; k == len(chars) || chars[k].gap {
			break
		}
	}
	return reach
}

func (h *hop) improve(distance float32, from, word int32) {
	if h.distance == 0 || h.distance > distance {
		*h = hop{distance, from, word}
	}
}

// split fills c.chars, and adds one at the end of the text.
func (c *Cutter) split(d *Dictionary, text []byte) {
	c.chars = c.chars[:0]
	gap := false
	for i := 0; i < len(text); {
		if text[i] == ' ' {
			gap = true
			i++
			continue
		}
		start := i
		var code uint16
		if text[i] >= 0xe0 {
			r, size := utf8.DecodeRune(text[i:])
			code = d.runeCode(r)
			i += size
		} else {
			i = runEnd(text, i)
			code = d.runCode(text[start:i])
		}
		c.chars = append(c.chars, char{int32(start), code, gap})
		gap = false
	}
	c.chars = append(c.chars, char{int32(len(text)), 0, gap})
}

// runEnd returns the end of the run of Latin, Greek or Cyrillic letters, digits and punctuation of numbers that
// begins at i.
func runEnd(text []byte, i int) int {
	for i < len(text) {
		switch b := text[i]; {
		case b == ' ' || b >= 0xe0:
			if !bytes.HasPrefix(text[i:], permille) {
				return i
			}
			i += len(permille)
		case b < utf8.RuneSelf:
			i++
		default:
			i += 2
		}
	}
	return i
}

var permille = []byte("‰")

// runCode is the code of such a run.
func (d *Dictionary) runCode(run []byte) uint16 {
	if len(run) <= 2 {
		if r, size := utf8.DecodeRune(run); size == len(run) && !unicode.IsPunct(r) {
			return d.runeCode(r)
		}
	}
	if len(run) > d.longestAtom {
		return 0
	}
	return d.atoms[string(run)]
}
