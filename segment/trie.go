package segment

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"slices"
	"unicode/utf8"

	"github.com/go-ego/gse"
	"github.com/klauspost/compress/zstd"
)

// A trie is gse's dictionary, laid out for reading. gse keeps its words in a
// double array over bytes and builds it word by word, which takes a second a
// start; this one is over whole characters, is built once (gentables), and is
// read as it lies in the file.
//
// Characters have codes from 1, in order of frequency. The child of node p by
// code c is node base[p]+c, if that node's label is c; bases are unique, so
// that the label is check enough. Node 0 is the root, code 0 is no character.
//
// The file is one zstd frame over, in order (integers little-endian, counts
// and lengths uvarint):
//
//	"jianguo dict 1\n"
//	runes     count, then that many uvarints: the runes with codes 1, 2, ...
//	atoms     count, then length and bytes of each: runs of Latin letters and
//	          digits that are one character to gse; codes go on from the runes
//	freqs     count, then that many uvarints: the distinct word frequencies
//	poses     count, then length and bytes of each: the parts of speech
//	nodes     count n, then the columns base (n int32), label (n uint16),
//	          freq (n uint16, 1 + index into freqs, 0 for no word), pos (n bytes)
type trie struct {
	nodes []node
	// pos is, by node, the index into poses of its word's part of speech.
	pos   []uint8
	codes []uint16 // of the runes of the basic plane
	rare  map[rune]uint16
	atoms map[string]uint16
	poses []string
	freqs []float64
	// distances[i] is the path length of a word with freq i: log2(total/freq).
	distances []float32
	total     float64
	// longestAtom is the length in bytes of the longest of atoms.
	longestAtom int
	// extra holds the edges that a user's words add, by parent<<16 | code;
	// their nodes follow the file's.
	extra map[uint64]int32
	used  int // codes given out
}

type node struct {
	base  int32
	label uint16
	freq  uint16
}

const trieMagic = "jianguo dict 1\n"

var errTrie = errors.New("dictionary table is damaged")

// readTrie reads a dictionary file.
func readTrie(file []byte) (*trie, error) {
	d, err := zstd.NewReader(nil, zstd.WithDecoderConcurrency(1))
	if err != nil {
		return nil, err
	}
	defer d.Close()
	b, err := d.DecodeAll(file, nil)
	if err != nil {
		return nil, fmt.Errorf("%w: %v", errTrie, err)
	}
	return parseTrie(b)
}

// parseTrie reads a dictionary file that has been decompressed.
func parseTrie(b []byte) (*trie, error) {
	if len(b) < len(trieMagic) || string(b[:len(trieMagic)]) != trieMagic {
		return nil, fmt.Errorf("%w: not a dictionary, or of another version", errTrie)
	}
	r := &reader{b: b[len(trieMagic):]}
	t := &trie{codes: make([]uint16, 1<<16), rare: map[rune]uint16{}, atoms: map[string]uint16{}}
	code := uint16(0)
	for range r.count() {
		code++
		t.setRune(rune(min(r.uvarint(), utf8.MaxRune)), code)
	}
	for range r.count() {
		code++
		a := r.string()
		t.atoms[a] = code
		t.longestAtom = max(t.longestAtom, len(a))
	}
	t.freqs = append(t.freqs, 0)
	for range r.count() {
		t.freqs = append(t.freqs, float64(r.uvarint()))
	}
	for range r.count() {
		t.poses = append(t.poses, r.string())
	}
	n := r.count()
	if r.err != nil || n == 0 || len(r.b) != 9*n {
		return nil, errTrie
	}
	base, label, freq := r.b, r.b[4*n:], r.b[6*n:]
	t.pos = r.b[8*n:]
	t.nodes = make([]node, n)
	for i := range t.nodes {
		x := node{
			base:  int32(binary.LittleEndian.Uint32(base[4*i:])),
			label: binary.LittleEndian.Uint16(label[2*i:]),
			freq:  binary.LittleEndian.Uint16(freq[2*i:]),
		}
		if int(x.freq) >= len(t.freqs) || int(t.pos[i]) >= len(t.poses) || x.base < 0 {
			return nil, errTrie
		}
		t.nodes[i] = x
		t.total += t.freqs[x.freq]
	}
	t.measure()
	return t, nil
}

// measure computes path lengths, in gse's arithmetic.
func (t *trie) measure() {
	total := float32(math.Log2(t.total))
	t.distances = make([]float32, len(t.freqs))
	for i, f := range t.freqs {
		t.distances[i] = total - float32(math.Log2(f))
	}
}

func (t *trie) setRune(r rune, code uint16) {
	if r < 1<<16 {
		t.codes[r] = code
	} else {
		t.rare[r] = code
	}
}

func (t *trie) runeCode(r rune) uint16 {
	if uint32(r) < 1<<16 {
		return t.codes[r]
	}
	return t.rare[r]
}

// child returns the child of p by code, 0 if there is none.
func (t *trie) child(p int32, code uint16) int32 {
	c := t.nodes[p].base + int32(code)
	if uint32(c) < uint32(len(t.nodes)) && t.nodes[c].label == code && code != 0 {
		return c
	}
	if t.extra != nil {
		return t.extra[uint64(p)<<16|uint64(code)]
	}
	return 0
}

var errTooMany = errors.New("too many different characters or frequencies")

// add adds a word, or changes what is known of it.
func (t *trie) add(atoms []gse.Text, freq float64, pos string) error {
	if t.extra == nil {
		t.extra = map[uint64]int32{}
		t.used = len(t.atoms) + len(t.rare)
		for _, c := range t.codes {
			if c != 0 {
				t.used++
			}
		}
	}
	p := int32(0)
	for _, a := range atoms {
		code, err := t.codeFor(string(a))
		if err != nil {
			return err
		}
		c := t.child(p, code)
		if c == 0 {
			c = int32(len(t.nodes))
			t.nodes = append(t.nodes, node{base: math.MaxInt32 >> 1})
			t.pos = append(t.pos, 0)
			t.extra[uint64(p)<<16|uint64(code)] = c
		}
		p = c
	}
	f := slices.Index(t.freqs[1:], freq) + 1
	if f == 0 {
		if f = len(t.freqs); f > math.MaxUint16 {
			return errTooMany
		}
		t.freqs = append(t.freqs, freq)
	}
	k := slices.Index(t.poses, pos)
	if k < 0 {
		if k = len(t.poses); k > math.MaxUint8 {
			return errTooMany
		}
		t.poses = append(t.poses, pos)
	}
	t.total += freq - t.freqs[t.nodes[p].freq]
	t.nodes[p].freq, t.pos[p] = uint16(f), uint8(k)
	return nil
}

// codeFor is the code of an atom, a new one if need be.
func (t *trie) codeFor(atom string) (uint16, error) {
	r, size := utf8.DecodeRuneInString(atom)
	single := size == len(atom)
	code := t.atoms[atom]
	if single {
		code = t.runeCode(r)
	}
	if code != 0 {
		return code, nil
	}
	if t.used++; t.used > math.MaxUint16 {
		return 0, errTooMany
	}
	code = uint16(t.used)
	if single {
		t.setRune(r, code)
	} else {
		t.atoms[atom] = code
		t.longestAtom = max(t.longestAtom, len(atom))
	}
	return code, nil
}

// A reader takes a file apart; its first error sticks.
type reader struct {
	b   []byte
	err error
}

func (r *reader) uvarint() uint64 {
	v, n := binary.Uvarint(r.b)
	if n <= 0 {
		r.err, r.b = errTrie, nil
		return 0
	}
	r.b = r.b[n:]
	return v
}

// count is a number of things of at least a byte each.
func (r *reader) count() int {
	v := r.uvarint()
	if v > uint64(len(r.b)) {
		r.err, r.b = errTrie, nil
		return 0
	}
	return int(v)
}

func (r *reader) string() string {
	n := r.count()
	s := string(r.b[:n])
	r.b = r.b[n:]
	return s
}
