package segment

import (
	"unicode"
	"unicode/utf8"
)

// A token is a word in a text: content[start:end], and the node of the
// dictionary it is; 0 for what the dictionary does not know.
type token struct {
	start, end int32
	node       int32
}

// A walker cuts text into words as gse's Segment does: of all ways to cut, the
// one along the most probable words (the shortest path, where a word is
// log2(total/freq) long and a character that is no word 32). It differs in
// two things. It allocates nothing once its buffers have grown. And wherever
// no word of the dictionary reaches across a point of the text it starts
// afresh, so that ties among equally good ways fall alike wherever in a text
// a sentence stands; gse adds float32 lengths up from the beginning, and its
// rounding, with it its ties, depends on all that came before.
type walker struct {
	atoms []atomAt
	pairs []int32 // by atom: see lookAhead
	best  []hop
	words []token
}

// An atomAt is a character of the text to the dictionary: a rune, or a run of
// Latin letters and digits.
type atomAt struct {
	start int32
	code  uint16
	// gap says that text that is no part of any word lies before it.
	gap bool
}

// A hop is the best way to the end of an atom.
type hop struct {
	distance float32
	from     int32 // the atom where the last word begins
	node     int32
}

// unknown is the length of a character that is no word.
const unknown = 32

// cut returns the words of content, a normal form without clause breaks. The
// result is the walker's, and good until the next call.
func (w *walker) cut(d *dictionary, content []byte) []token {
	w.words = w.words[:0]
	w.atomize(d, content)
	n := len(w.atoms) - 1 // the last one marks the end
	if cap(w.best) < n {
		w.best = make([]hop, n+n/4)
	}
	best := w.best[:n]
	clear(best)
	w.lookAhead(d.trie)
	start, reach := 0, 0
	var base float32
	for i := range n {
		if i >= reach && i > 0 {
			w.trace(best, start, i)
			start, base = i, 0
		} else if i > start {
			base = best[i-1].distance
		}
		reach = max(reach, d.step(w.atoms[i:n], w.pairs[i], best[i:], base, int32(i))+i)
	}
	w.trace(best, start, n)
	return w.words
}

// trace appends the words on the best way through the atoms from start to end.
func (w *walker) trace(best []hop, start, end int) {
	first := len(w.words)
	for i := end; i > start; {
		h := best[i-1]
		last := i - 1
		i = int(h.from)
		t := token{start: w.atoms[i].start, end: w.atoms[last+1].start, node: h.node}
		if w.atoms[last+1].gap {
			t.end--
		}
		w.words = append(w.words, t)
	}
	for i, j := first, len(w.words)-1; i < j; i, j = i+1, j-1 {
		w.words[i], w.words[j] = w.words[j], w.words[i]
	}
}

// lookAhead finds what the dictionary has for every atom and the next: the node
// of both, 0 for none. The dictionary is larger than what a processor keeps near,
// and nearly every look-up waits for memory; here none depends on the one
// before, nor on a guess, so that many wait at once.
func (w *walker) lookAhead(t *trie) {
	n := len(w.atoms) - 1
	if cap(w.pairs) < n {
		w.pairs = make([]int32, n+n/4)
	}
	w.pairs = w.pairs[:n]
	for i := range w.pairs {
		w.pairs[i] = 0
		a, b := w.atoms[i], w.atoms[i+1]
		if i+1 == n || b.gap || b.code == 0 {
			continue
		}
		p := t.child(0, a.code)
		if p == 0 {
			continue
		}
		if t.extra != nil {
			w.pairs[i] = t.child(p, b.code)
			continue
		}
		c := t.nodes[p].base + int32(b.code)
		if uint32(c) >= uint32(len(t.nodes)) {
			continue
		}
		// All ones where the label is the code, without a branch.
		w.pairs[i] = c & ((int32(t.nodes[c].label^b.code) - 1) >> 31)
	}
}

// step extends the ways that reach the first atom by every word that begins
// there, and returns how many atoms the longest has. pair is the node of the
// first two.
func (d *dictionary) step(atoms []atomAt, pair int32, best []hop, base float32, from int32) int {
	t := d.trie
	reach := 1
	p := t.child(0, atoms[0].code)
	if f := t.nodes[p].freq; p != 0 && f != 0 {
		best[0].improve(base+t.distances[f], from, p)
	} else {
		best[0].improve(base+unknown, from, 0)
	}
	p = pair
	for k := 1; p != 0; k++ {
		if f := t.nodes[p].freq; f != 0 {
			best[k].improve(base+t.distances[f], from, p)
			reach = k + 1
		}
		if k+1 == len(atoms) || atoms[k+1].gap {
			break
		}
		p = t.child(p, atoms[k+1].code)
	}
	return reach
}

func (h *hop) improve(distance float32, from, node int32) {
	if h.distance == 0 || h.distance > distance {
		*h = hop{distance, from, node}
	}
}

// atomize fills w.atoms, and adds one at the end of the text.
func (w *walker) atomize(d *dictionary, content []byte) {
	w.atoms = w.atoms[:0]
	gap := false
	for i := 0; i < len(content); {
		b := content[i]
		if b == ' ' {
			gap = true
			i++
			continue
		}
		start := i
		var code uint16
		if b >= 0xe0 {
			r, size := utf8.DecodeRune(content[i:])
			code = d.trie.runeCode(r)
			i += size
		} else {
			i = alnumEnd(content, i)
			code = d.atomCode(content[start:i])
		}
		w.atoms = append(w.atoms, atomAt{int32(start), code, gap})
		gap = false
	}
	w.atoms = append(w.atoms, atomAt{int32(len(content)), 0, gap})
}

// alnumEnd returns the end of the run of Latin, Greek or Cyrillic letters,
// digits and the punctuation of numbers that begins at i.
func alnumEnd(content []byte, i int) int {
	for i < len(content) {
		switch b := content[i]; {
		case b == ' ' || b >= 0xe0:
			if !permille(content[i:]) {
				return i
			}
			i += 3
		case b < utf8.RuneSelf:
			i++
		default:
			i += 2
		}
	}
	return i
}

func permille(b []byte) bool { return len(b) >= 3 && b[0] == 0xe2 && b[1] == 0x80 && b[2] == 0xb0 }

func (d *dictionary) atomCode(atom []byte) uint16 {
	if len(atom) <= 2 {
		if r, size := utf8.DecodeRune(atom); size == len(atom) && !unicode.IsPunct(r) {
			return d.trie.runeCode(r)
		}
	}
	if len(atom) > d.trie.longestAtom {
		return 0
	}
	return d.trie.atoms[string(atom)]
}
