package segment

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/go-ego/gse"
	"github.com/zeebo/xxh3"
)

// A dictionary is the trie and what is known of its words beyond gse.
type dictionary struct {
	trie *trie
	// idf is, by node, the inverse document frequency of the word in units of
	// 1/idfUnit; 0 for a stop word.
	idf []uint8
	// others is the same for words that are not in the dictionary, by hash.
	others map[uint64]uint8
	// rarest is what a word has that was not seen in the corpus.
	rarest uint8
	// name says by part of speech whether a word names something.
	name []bool
}

const idfUnit = 16

// unlisted is the document frequency of a word that is too rare for the table.
const unlisted = 2

// names are the parts of speech of place, company, person and other names.
var names = map[string]bool{"nr": true, "nrt": true, "nrfg": true, "ns": true, "nt": true, "nz": true}

// weigh reads the document frequencies: a first line "documents N", then
// lines "word n"; and takes gse's stop words out.
func (d *dictionary) weigh(file string) error {
	d.others = map[uint64]uint8{}
	documents := 0.0
	line := 0
	for s := range strings.Lines(file) {
		line++
		if s[0] == '#' {
			continue
		}
		word, count, ok := strings.Cut(strings.TrimSuffix(s, "\n"), " ")
		n, err := strconv.Atoi(count)
		if !ok || err != nil || n <= 0 {
			return fmt.Errorf("line %d: want a word and a count", line)
		}
		if documents == 0 {
			documents = float64(n)
			d.rarest = quantize(documents, unlisted)
			d.extend()
			continue
		}
		d.set(word, quantize(documents, float64(n)))
	}
	if documents == 0 {
		return fmt.Errorf("want documents and their number first")
	}
	var g gse.Segmenter
	if err := g.LoadStopEmbed(); err != nil {
		return err
	}
	for w := range g.StopWordMap {
		d.set(w, 0)
	}
	return nil
}

func quantize(documents, n float64) uint8 {
	return uint8(max(1, min(255, math.Round(idfUnit*math.Log((documents+1)/(n+0.5))))))
}

// set gives a word its idf.
func (d *dictionary) set(word string, idf uint8) {
	if p := d.find(word); p != 0 {
		d.idf[p] = idf
		return
	}
	d.others[xxh3.HashString(word)] = idf
}

// find returns the node of a word, 0 if the dictionary does not have it.
func (d *dictionary) find(word string) int32 {
	var w walker
	w.atomize(d, []byte(word))
	p := int32(0)
	for _, a := range w.atoms[:len(w.atoms)-1] {
		if p = d.trie.child(p, a.code); p == 0 {
			return 0
		}
	}
	if d.trie.nodes[p].freq == 0 {
		return 0
	}
	return p
}

// weight returns the idf of the word at a node, or, where the dictionary does
// not know it (node 0), of the word with a hash; 0 for a stop word.
func (d *dictionary) weight(node int32, hash uint64) float32 {
	if node != 0 {
		return float32(d.idf[node]) / idfUnit
	}
	if v, ok := d.others[hash]; ok {
		return float32(v) / idfUnit
	}
	return float32(d.rarest) / idfUnit
}

// addUser adds the words of a gse dictionary (word, frequency, part of speech;
// frequency 2 where none is given). A word that is there already takes the new
// frequency, as when gse loads the user's dictionary first.
func (d *dictionary) addUser(file string, normal func(string) string) error {
	g := gse.Segmenter{SkipLog: true, NotLoadHMM: true, Dict: gse.NewDict()}
	g.Init()
	line := 0
	for s := range strings.Lines(file) {
		line++
		fields := strings.Fields(s)
		if len(fields) == 0 || strings.HasPrefix(fields[0], "#") {
			continue
		}
		frequency, pos := "2", ""
		if len(fields) > 1 {
			frequency = fields[1]
		}
		if len(fields) > 2 {
			pos = fields[2]
		}
		word := normal(fields[0])
		freq := g.Size(len(fields)+1, word, frequency)
		if freq == 0 || word == "" || strings.ContainsAny(word, "\n ") {
			return fmt.Errorf("line %d: %.40q: want a word, a frequency of at least 2 and a part of speech", line, strings.TrimSpace(s))
		}
		if err := g.AddToken(word, freq, pos); err != nil {
			return fmt.Errorf("line %d: %w", line, err)
		}
	}
	for i := range g.Dict.Tokens {
		t := &g.Dict.Tokens[i]
		if err := d.trie.add(gse.SplitWords([]byte(t.Text())), t.Freq(), t.Pos()); err != nil {
			return fmt.Errorf("%q: %w", t.Text(), err)
		}
	}
	d.trie.measure()
	d.extend()
	return nil
}

// extend covers nodes and parts of speech that were added to the trie.
func (d *dictionary) extend() {
	for len(d.idf) < len(d.trie.nodes) {
		d.idf = append(d.idf, d.rarest)
	}
	for _, p := range d.trie.poses[len(d.name):] {
		d.name = append(d.name, names[p])
	}
}
