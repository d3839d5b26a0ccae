package main

import (
	"encoding/binary"
	"fmt"
	"os"
	"slices"
	"sort"
	"strings"
	"unicode/utf8"

	"github.com/go-ego/gse"
	"github.com/klauspost/compress/zstd"
)

// A word of the dictionary as codes, and what gse knows of it.
type entry struct {
	codes []uint16
	freq  uint16
	pos   uint8
}

// dict writes gse's simplified dictionary in the format of segment/cut.
func dict(out string) error {
	var g gse.Segmenter
	g.SkipLog, g.NotLoadHMM = true, true
	if err := g.LoadDictEmbed("zh_s"); err != nil {
		return err
	}
	runes, atoms, freqs, poses := map[string]int{}, map[string]int{}, map[string]int{}, map[string]int{}
	words := make([][]string, len(g.Dict.Tokens))
	for i := range g.Dict.Tokens {
		t := &g.Dict.Tokens[i]
		for _, a := range gse.SplitWords([]byte(t.Text())) {
			words[i] = append(words[i], string(a))
			if utf8.RuneCount(a) == 1 {
				runes[string(a)]++
			} else {
				atoms[string(a)]++
			}
		}
		if t.Freq() != float64(uint64(t.Freq())) {
			return fmt.Errorf("frequency of %q is not whole: %v", t.Text(), t.Freq())
		}
		freqs[fmt.Sprintf("%012d", uint64(t.Freq()))]++
		poses[t.Pos()]++
	}
	b := []byte("jianguo dict 1\n")
	code := map[string]uint16{}
	order := byCount(runes)
	b = binary.AppendUvarint(b, uint64(len(order)))
	for _, r := range order {
		code[r] = uint16(len(code) + 1)
		x, _ := utf8.DecodeRuneInString(r)
		b = binary.AppendUvarint(b, uint64(x))
	}
	order = byCount(atoms)
	b = appendStrings(b, order)
	for _, a := range order {
		code[a] = uint16(len(code) + 1)
	}
	freqIndex, posIndex := map[string]uint16{}, map[string]uint8{}
	order = byCount(freqs)
	b = binary.AppendUvarint(b, uint64(len(order)))
	for _, f := range order {
		freqIndex[f] = uint16(len(freqIndex) + 1)
		var v uint64
		fmt.Sscanf(f, "%d", &v)
		b = binary.AppendUvarint(b, v)
	}
	order = byCount(poses)
	b = appendStrings(b, order)
	for i, p := range order {
		posIndex[p] = uint8(i)
	}
	entries := make([]entry, len(words))
	for i, w := range words {
		t := &g.Dict.Tokens[i]
		e := entry{freq: freqIndex[fmt.Sprintf("%012d", uint64(t.Freq()))], pos: posIndex[t.Pos()]}
		for _, a := range w {
			e.codes = append(e.codes, code[a])
		}
		entries[i] = e
	}
	sort.Slice(entries, func(i, j int) bool { return slices.Compare(entries[i].codes, entries[j].codes) < 0 })
	l := newLayout()
	l.place(0, entries, 0)
	b = l.append(b)
	z, err := zstd.NewWriter(nil, zstd.WithEncoderLevel(zstd.SpeedBestCompression), zstd.WithEncoderConcurrency(1))
	if err != nil {
		return err
	}
	packed := z.EncodeAll(b, nil)
	fmt.Printf("%s: %d words, %d characters, %d frequencies, %d nodes in %d places, %d -> %d bytes\n",
		out, len(entries), len(code), len(freqIndex), l.used, l.size, len(b), len(packed))
	return os.WriteFile(out, packed, 0o644)
}

// byCount orders the keys of m by falling count, then by themselves.
func byCount(m map[string]int) []string {
	keys := make([]string, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	sort.Slice(keys, func(i, j int) bool {
		if m[keys[i]] != m[keys[j]] {
			return m[keys[i]] > m[keys[j]]
		}
		return strings.Compare(keys[i], keys[j]) < 0
	})
	return keys
}

func appendStrings(b []byte, s []string) []byte {
	b = binary.AppendUvarint(b, uint64(len(s)))
	for _, x := range s {
		b = binary.AppendUvarint(b, uint64(len(x)))
		b = append(b, x...)
	}
	return b
}

// A layout is a double array under construction.
type layout struct {
	base        []int32
	label, freq []uint16
	pos         []uint8
	taken       []bool // base values in use: a base belongs to one node
	first       int    // no free node lies below
	size, used  int
}

func newLayout() *layout {
	l := &layout{first: 1}
	l.grow(1 << 21)
	// A leaf has base 0: were it anyone's, the leaf would have children.
	l.taken[0] = true
	l.size, l.used = 1, 1
	return l
}

func (l *layout) grow(n int) {
	l.base = append(l.base, make([]int32, n)...)
	l.label = append(l.label, make([]uint16, n)...)
	l.freq = append(l.freq, make([]uint16, n)...)
	l.pos = append(l.pos, make([]uint8, n)...)
	l.taken = append(l.taken, make([]bool, n)...)
}

// place lays out the children of node p: entries, sorted, share their first
// depth codes.
func (l *layout) place(p int, entries []entry, depth int) {
	if len(entries) > 0 && len(entries[0].codes) == depth {
		l.freq[p], l.pos[p] = entries[0].freq, entries[0].pos
		entries = entries[1:]
	}
	if len(entries) == 0 {
		return
	}
	var children []uint16
	var ends []int
	for i, e := range entries {
		if i == 0 || e.codes[depth] != children[len(children)-1] {
			children = append(children, e.codes[depth])
			ends = append(ends, i)
		}
	}
	ends = append(ends, len(entries))
	base := l.find(children)
	l.base[p] = int32(base)
	l.taken[base] = true
	for _, c := range children {
		l.label[base+int(c)] = c
		l.size = max(l.size, base+int(c)+1)
	}
	l.used += len(children)
	for i, c := range children {
		l.place(base+int(c), entries[ends[i]:ends[i+1]], depth+1)
	}
}

// find returns the smallest base that puts all children on free nodes.
func (l *layout) find(children []uint16) int {
	for l.label[l.first] != 0 {
		l.first++
	}
	lo := int(children[0])
	for at := max(l.first, lo); ; at++ {
		if at+1<<16 > len(l.base) {
			l.grow(len(l.base))
		}
		base := at - lo
		if l.label[at] != 0 || l.taken[base] {
			continue
		}
		free := true
		for _, c := range children[1:] {
			if l.label[base+int(c)] != 0 {
				free = false
				break
			}
		}
		if free {
			return base
		}
	}
}

func (l *layout) append(b []byte) []byte {
	n := l.size
	b = binary.AppendUvarint(b, uint64(n))
	for _, x := range l.base[:n] {
		b = binary.LittleEndian.AppendUint32(b, uint32(x))
	}
	for _, x := range l.label[:n] {
		b = binary.LittleEndian.AppendUint16(b, x)
	}
	for _, x := range l.freq[:n] {
		b = binary.LittleEndian.AppendUint16(b, x)
	}
	return append(b, l.pos[:n]...)
}
