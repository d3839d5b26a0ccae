package cut

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/go-ego/gse"
)

// AddWords adds the words of a gse dictionary: a word, its frequency (2 where none is given) and its part of
// speech (empty where none is given) a line. Words are brought into the form that normal gives them. A word
// that the dictionary already has takes the new frequency, as it does where gse loads this list before its own
// dictionary. AddWords returns the words that the dictionary did not have. Errors name the line.
func (d *Dictionary) AddWords(list string, normal func(string) string) (added []string, err error) {
	g := gse.Segmenter{SkipLog: true, NotLoadHMM: true, Dict: gse.NewDict()}
	g.Init()
	line := 0
	for s := range strings.Lines(list) {
		line++
		fields := strings.Fields(s)
		if len(fields) == 0 || strings.HasPrefix(fields[0], "#") {
			continue
		}
		word, frequency, tag := normal(fields[0]), "2", ""
		if len(fields) > 1 {
			frequency = fields[1]
		}
		if len(fields) > 2 {
			tag = fields[2]
		}
		freq := g.Size(len(fields)+1, word, frequency)
		if freq == 0 || word == "" || strings.ContainsAny(word, "\n ") {
			return nil, fmt.Errorf("line %d: %.40q: want a word, a frequency of at least 2 and a part of speech",
				line, strings.TrimSpace(s))
		}
		if err := g.AddToken(word, freq, tag); err != nil {
			return nil, fmt.Errorf("line %d: %w", line, err)
		}
	}
	for i := range g.Dict.Tokens {
		t := &g.Dict.Tokens[i]
		if err := d.add(t, &added); err != nil {
			return nil, fmt.Errorf("%q: %w", t.Text(), err)
		}
	}
	d.measure()
	return added, nil
}

var errTooMany = errors.New("too many different characters, frequencies or parts of speech")

// add adds a word, also to added, or replaces its frequency and part of speech.
func (d *Dictionary) add(word *gse.Token, added *[]string) error {
	if d.added == nil {
		d.added = map[uint64]int32{}
	}
	p := int32(0)
	for _, char := range gse.SplitWords([]byte(word.Text())) {
		if d.code(string(char)) == 0 {
			if d.codes == math.MaxUint16 {
				return errTooMany
			}
			d.addCode(string(char))
		}
		code := d.code(string(char))
		c := d.child(p, code)
		if c == 0 {
			c = int32(len(d.nodes))
			d.nodes = append(d.nodes, node{base: math.MaxInt32 >> 1}) // all its children are in added
			d.tag = append(d.tag, 0)
			d.added[uint64(p)<<16|uint64(code)] = c
		}
		p = c
	}
	freq, tag := slices.Index(d.freqs[1:], word.Freq())+1, slices.Index(d.tags, word.Pos())
	if freq == 0 {
		freq = len(d.freqs)
		d.freqs = append(d.freqs, word.Freq())
	}
	if tag < 0 {
		tag = len(d.tags)
		d.tags = append(d.tags, word.Pos())
	}
	if freq > math.MaxUint16 || tag > math.MaxUint8 {
		return errTooMany
	}
	d.total += word.Freq() - d.freqs[d.nodes[p].freq]
	if d.nodes[p].freq == 0 {
		*added = append(*added, word.Text())
	}
	d.nodes[p].freq, d.tag[p] = uint16(freq), uint8(tag)
	return nil
}
