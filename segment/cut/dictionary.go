package cut

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"slices"
	"unicode/utf8"

	"github.com/klauspost/compress/zstd"
)

// A Dictionary is gse's dictionary as a double-array trie over characters. It is safe for concurrent use once
// the last words have been added to it.
//
// A character here is a rune, or a run of Latin letters and digits that gse takes for one character. Characters
// have codes from 1; code 0 stands for every character that is in no word. The child of node p by code c is
// node base[p]+c, if that node's label is c. Bases are unique, so the label is check enough. Node 0 is the
// root; every other node is a word or the beginning of one, and its number is the number of the word.
//
// The file is one zstd frame over, in order (integers little-endian, counts and lengths uvarint):
//
//	"jianguo dict 1\n"
//	runes     count, then that many uvarints: the runes with codes 1, 2, ..., most frequent first
//	atoms     count, then length and bytes of each: the runs of letters and digits; codes go on from the runes
//	freqs     count, then that many uvarints: the distinct word frequencies
//	tags      count, then length and bytes of each: the parts of speech
//	nodes     count n, then the columns base (n int32), label (n uint16),
//	          freq (n uint16, 1 + index into freqs, 0 for no word), tag (n bytes, index into tags)
type Dictionary struct {
	nodes []node
	tag   []uint8           // by node
	plane []uint16          // codes of the runes of the basic plane
	rare  map[rune]uint16   // codes of other runes
	atoms map[string]uint16 // codes of runs of letters and digits
	codes int               // number of codes in use
	tags  []string
	freqs []float64
	// distances[i] is the path length of a word with freqs[i]: log2(total/freq).
	distances []float32
	total     float64
	// longestAtom is the length in bytes of the longest of atoms.
	longestAtom int
	// added holds the edges of added words, by parent<<16 | code; nil without added words.
	added map[uint64]int32
}

type node struct {
	base  int32
	label uint16
	freq  uint16
}

const magic = "jianguo dict 1\n"

var errDamaged = errors.New("dictionary table is damaged")

// Load reads a dictionary file, in about 15 ms for that of data/tables.
func Load(file []byte) (*Dictionary, error) {
	z, err := zstd.NewReader(nil, zstd.WithDecoderConcurrency(1))
	if err != nil {
		return nil, err
	}
	defer z.Close()
	b, err := z.DecodeAll(file, nil)
	if err != nil {
		return nil, fmt.Errorf("%w: %v", errDamaged, err)
	}
	return parse(b)
}

// parse reads a decompressed dictionary file.
func parse(b []byte) (*Dictionary, error) {
	if len(b) < len(magic) || string(b[:len(magic)]) != magic {
		return nil, fmt.Errorf("%w: not a dictionary, or of another version", errDamaged)
	}
	r := &reader{b: b[len(magic):]}
	d := &Dictionary{
		plane: make([]uint16, 1<<16), rare: map[rune]uint16{}, atoms: map[string]uint16{}, freqs: []float64{0},
	}
	for range r.count() {
		d.addCode(string(rune(min(r.uvarint(), utf8.MaxRune))))
	}
	for range r.count() {
		d.addCode(r.string())
	}
	for range r.count() {
		d.freqs = append(d.freqs, float64(r.uvarint()))
	}
	for range r.count() {
		d.tags = append(d.tags, r.string())
	}
	n := r.count()
	if r.err != nil || n == 0 || len(r.b) != 9*n {
		return nil, errDamaged
	}
	base, label, freq := r.b, r.b[4*n:], r.b[6*n:]
	d.tag = slices.Clone(r.b[8*n:]) // does not keep all of b
	d.nodes = make([]node, n)
	total := 0.0
	for i := range d.nodes {
		x := node{
			base:  int32(binary.LittleEndian.Uint32(base[4*i:])),
			label: binary.LittleEndian.Uint16(label[2*i:]),
			freq:  binary.LittleEndian.Uint16(freq[2*i:]),
		}
		if int(x.freq) >= len(d.freqs) || int(d.tag[i]) >= len(d.tags) || x.base < 0 {
			return nil, errDamaged
		}
		d.nodes[i] = x
		total += d.freqs[x.freq]
	}
	d.total = total
	d.measure()
	return d, nil
}

// measure computes the path lengths, in gse's arithmetic.
func (d *Dictionary) measure() {
	total := float32(math.Log2(d.total))
	d.distances = make([]float32, len(d.freqs))
	for i, f := range d.freqs {
		d.distances[i] = total - float32(math.Log2(f))
	}
}

// Tag is the part of speech of a word (gse's: nr, ns, v, ...).
func (d *Dictionary) Tag(word int32) string { return d.tags[d.tag[word]] }

// code is the code of a character, 0 if no word has it.
func (d *Dictionary) code(char string) uint16 {
	if r, size := utf8.DecodeRuneInString(char); size == len(char) {
		return d.runeCode(r)
	}
	return d.atoms[char]
}

func (d *Dictionary) runeCode(r rune) uint16 {
	if uint32(r) < 1<<16 {
		return d.plane[r]
	}
	return d.rare[r]
}

// addCode gives the next code to a character.
func (d *Dictionary) addCode(char string) {
	d.codes++
	code := uint16(d.codes)
	switch r, size := utf8.DecodeRuneInString(char); {
	case size < len(char):
		d.atoms[char] = code
		d.longestAtom = max(d.longestAtom, len(char))
	case r < 1<<16:
		d.plane[r] = code
	default:
		d.rare[r] = code
	}
}

// child returns the child of node p by a code, 0 if there is none.
func (d *Dictionary) child(p int32, code uint16) int32 {
	c := d.nodes[p].base + int32(code)
	if uint32(c) < uint32(len(d.nodes)) && d.nodes[c].label == code && code != 0 {
		return c
	}
	if d.added != nil {
		return d.added[uint64(p)<<16|uint64(code)]
	}
	return 0
}

// A reader takes a file apart; its first error sticks.
type reader struct {
	b   []byte
	err error
}

func (r *reader) uvarint() uint64 {
	v, n := binary.Uvarint(r.b)
	if n <= 0 {
		r.err, r.b = errDamaged, nil
		return 0
	}
	r.b = r.b[n:]
	return v
}

// count is a number of elements of at least one byte each.
func (r *reader) count() int {
	v := r.uvarint()
	if v > uint64(len(r.b)) {
		r.err, r.b = errDamaged, nil
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
