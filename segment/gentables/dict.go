package main

import (
	"cmp"
	"encoding/binary"
	"fmt"
	"maps"
	"os"
	"slices"
	"strconv"
	"unicode/utf8"

	"github.com/go-ego/gse"
	"github.com/klauspost/compress/zstd"

	"jianguo/internal/must"
)

// entry is a word of the dictionary as codes, and what gse knows of it.
type entry struct {
	codes []uint16
	freq  uint16
	pos   uint8
}

// dict writes gse's simplified dictionary in the format of segment/cut, which describes it.
func dict(out string) {
	words := words()
	runes, atoms, freqs, poses := map[string]int{}, map[string]int{}, map[string]int{}, map[string]int{}
	for i := range words.Tokens {
		t := &words.Tokens[i]
		for _, a := range gse.SplitWords([]byte(t.Text())) {
			if utf8.RuneCount(a) == 1 {
				runes[string(a)]++
			} else {
				atoms[string(a)]++
			}
		}
		freqs[frequency(t)]++
		poses[t.Pos()]++
	}
	code, freqIndex, posIndex := map[string]int{}, map[string]int{}, map[string]int{}
	b := []byte("jianguo dict 1\n")
	b = appendTable(b, runes, code, func(b []byte, char string) []byte {
		r, _ := utf8.DecodeRuneInString(char)
		return binary.AppendUvarint(b, uint64(r))
	})
	b = appendTable(b, atoms, code, appendString)
	b = appendTable(b, freqs, freqIndex, func(b []byte, freq string) []byte {
		n, _ := strconv.ParseUint(freq, 10, 64)
		return binary.AppendUvarint(b, n)
	})
	b = appendTable(b, poses, posIndex, appendString)
	entries := make([]entry, len(words.Tokens))
	for i := range entries {
		t := &words.Tokens[i]
		entries[i] = entry{freq: uint16(freqIndex[frequency(t)]), pos: uint8(posIndex[t.Pos()] - 1)}
		for _, a := range gse.SplitWords([]byte(t.Text())) {
			entries[i].codes = append(entries[i].codes, uint16(code[string(a)]))
		}
	}
	slices.SortFunc(entries, func(a, b entry) int { return slices.Compare(a.codes, b.codes) })
	l := &layout{first: 1, size: 1}
	l.taken[0] = true // a leaf has base 0: were it anyone's, the leaf would have children
	l.place(0, entries, 0)
	z := must.Get(zstd.NewWriter(nil, zstd.WithEncoderLevel(zstd.SpeedBestCompression),
		zstd.WithEncoderConcurrency(1)))
	must.Do(os.WriteFile(out, z.EncodeAll(l.append(b), nil), 0o644))
}

// frequency is that of a word with digits in front, so that equal counts are in the order of numbers.
func frequency(t *gse.Token) string { return fmt.Sprintf("%012d", uint64(t.Freq())) }

// appendTable appends the keys that were counted, most frequent first, and numbers them in index, from 1 on.
func appendTable(b []byte, counts, index map[string]int, add func([]byte, string) []byte) []byte {
	b = binary.AppendUvarint(b, uint64(len(counts)))
	for _, key := range byCount(counts) {
		index[key] = len(index) + 1
		b = add(b, key)
	}
	return b
}

func appendString(b []byte, s string) []byte {
	return append(binary.AppendUvarint(b, uint64(len(s))), s...)
}

// byCount orders the keys of m by falling count, then by themselves.
func byCount(m map[string]int) []string {
	return slices.SortedFunc(maps.Keys(m), func(a, b string) int {
		return cmp.Or(cmp.Compare(m[b], m[a]), cmp.Compare(a, b))
	})
}

// nodesMost bounds the nodes of a layout.
const nodesMost = 1 << 22

// layout is a double array under construction, by node.
type layout struct {
	base  [nodesMost]int32
	label [nodesMost]uint16 // 0 while the node is free
	freq  [nodesMost]uint16
	pos   [nodesMost]uint8
	taken [nodesMost]bool // its number is the base of a node: a base belongs to one node
	first int             // no free node lies below
	size  int
}

// place lays out the children of node p: entries, sorted, share their first depth codes.
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
	l.base[p], l.taken[base] = int32(base), true
	for _, c := range children {
		l.label[base+int(c)] = c
		l.size = max(l.size, base+int(c)+1)
	}
	for i, c := range children {
		l.place(base+int(c), entries[ends[i]:ends[i+1]], depth+1)
	}
}

// find returns the smallest base that puts all children on free nodes.
func (l *layout) find(children []uint16) int {
	for l.label[l.first] != 0 {
		l.first++
	}
	for base := max(l.first-int(children[0]), 0); ; base++ {
		taken := func(c uint16) bool { return l.label[base+int(c)] != 0 }
		if !l.taken[base] && !slices.ContainsFunc(children, taken) {
			return base
		}
	}
}

func (l *layout) append(b []byte) []byte {
	b = binary.AppendUvarint(b, uint64(l.size))
	for _, column := range []any{l.base[:l.size], l.label[:l.size], l.freq[:l.size], l.pos[:l.size]} {
		b = must.Get(binary.Append(b, binary.LittleEndian, column))
	}
	return b
}
