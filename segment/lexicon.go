package segment

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/go-ego/gse"
	"github.com/zeebo/xxh3"

	"jianguo/segment/cut"
)

// A lexicon is the dictionary with the document frequencies of its words.
type lexicon struct {
	*cut.Dictionary
	// idf is, by number of a word, its inverse document frequency in units of 1/idfUnit; 0 for a stop word.
	idf []uint8
	// others is the same for words that are not in the dictionary, by hash.
	others map[uint64]uint8
	// rarest is the inverse document frequency of a word that was not seen in the corpus.
	rarest uint8
	// name holds, by part of speech, whether its words are names.
	name []bool
}

const idfUnit = 16

// unlisted is the document frequency of a word that is too rare for the table.
const unlisted = 2

// nameTags are the parts of speech of place, company, person and other names.
var nameTags = map[string]bool{"nr": true, "nrt": true, "nrfg": true, "ns": true, "nt": true, "nz": true}

// weigh reads the document frequencies (a first line "documents N", then lines "word n"), and gives gse's stop
// words no weight.
func (l *lexicon) weigh(file string) error {
	l.others = map[uint64]uint8{}
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
			l.rarest = quantize(documents, unlisted)
			l.extend()
			continue
		}
		l.set(word, quantize(documents, float64(n)))
	}
	if documents == 0 {
		return fmt.Errorf("want documents and their number first")
	}
	var g gse.Segmenter
	if err := g.LoadStopEmbed(); err != nil {
		return err
	}
	for w := range g.StopWordMap {
		l.set(w, 0)
	}
	return nil
}

func quantize(documents, n float64) uint8 {
	return uint8(max(1, min(255, math.Round(idfUnit*math.Log((documents+1)/(n+0.5))))))
}

// set gives a word its inverse document frequency.
func (l *lexicon) set(word string, idf uint8) {
	if n := l.Find(word); n != 0 {
		l.idf[n] = idf
		return
	}
	l.others[xxh3.HashString(word)] = idf
}

// weight returns the inverse document frequency of a word of the text, given its hash; 0 for a stop word.
func (l *lexicon) weight(t cut.Token, hash uint64) float32 {
	if t.Word != 0 {
		return float32(l.idf[t.Word]) / idfUnit
	}
	if v, ok := l.others[hash]; ok {
		return float32(v) / idfUnit
	}
	return float32(l.rarest) / idfUnit
}

// names reports whether a word of the text is a name of two characters or more.
func (l *lexicon) names(t cut.Token) bool {
	return t.Word != 0 && t.End-t.Start > 3 && l.name[l.Tag(t.Word)]
}

// addWords adds the words of a user's dictionary.
func (l *lexicon) addWords(file string, normal func(string) string) error {
	defer l.extend()
	return l.AddWords(file, normal)
}

// extend covers words and parts of speech that were added to the dictionary.
func (l *lexicon) extend() {
	for len(l.idf) < l.Len() {
		l.idf = append(l.idf, l.rarest)
	}
	for _, tag := range l.Tags()[len(l.name):] {
		l.name = append(l.name, nameTags[tag])
	}
}
