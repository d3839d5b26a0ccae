package segment

import (
	"bytes"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/go-ego/gse"
	"github.com/zeebo/xxh3"

	"jianguo/segment/cut"
)

// A lexicon is the dictionary with the document frequencies of its words and of others.
type lexicon struct {
	*cut.Dictionary
	// idf holds the inverse document frequencies of words in units of 1/idfUnit, by hash; 0 for a stop word.
	idf map[uint64]uint8
	// rarest is the inverse document frequency of a word that was not seen in the corpus.
	rarest uint8
}

const idfUnit = 16

// unlisted is the document frequency of a word that is too rare for the table.
const unlisted = 2

// weigh reads the document frequencies (a first line "documents N", then lines "word n", most frequent first),
// and gives gse's stop words no weight.
func (l *lexicon) weigh(file []byte) error {
	var g gse.Segmenter
	if err := g.LoadStopEmbed(); err != nil {
		return err
	}
	l.idf = make(map[uint64]uint8, bytes.Count(file, []byte("\n"))+len(g.StopWordMap))
	documents, before, idf := 0, 0, uint8(0)
	line := 0
	for s := range bytes.Lines(file) {
		line++
		if s[0] == '#' {
			continue
		}
		word, count, _ := bytes.Cut(bytes.TrimSuffix(s, []byte("\n")), []byte(" "))
		n, err := strconv.Atoi(string(count))
		if err != nil || n <= 0 {
			return fmt.Errorf("line %d: want a word and a count", line)
		}
		if documents == 0 {
			documents, l.rarest = n, quantize(n, unlisted)
			continue
		}
		if n != before { // a logarithm takes longer than the rest of a line
			before, idf = n, quantize(documents, n)
		}
		l.idf[xxh3.Hash(word)] = idf
	}
	if documents == 0 {
		return fmt.Errorf("want documents and their number first")
	}
	for w := range g.StopWordMap {
		l.idf[xxh3.HashString(w)] = 0
	}
	return nil
}

func quantize(documents, n int) uint8 {
	return uint8(max(1, min(255, math.Round(idfUnit*math.Log((float64(documents)+1)/(float64(n)+0.5))))))
}

// weight returns the inverse document frequency of a word, given its hash; 0 for a stop word.
func (l *lexicon) weight(hash uint64) float32 {
	idf, ok := l.idf[hash]
	if !ok {
		idf = l.rarest
	}
	return float32(idf) / idfUnit
}

// class is 1 for a word of the text that is a place, company, person or other name of two characters or more, and 1 for
// a noun, or what the dictionary does not have.
func (l *lexicon) class(t cut.Token) (name, noun int32) {
	if t.Word == 0 {
		return 0, 1
	}
	switch tag := l.Tag(t.Word); {
	case slices.Contains([]string{"nr", "nrt", "nrfg", "ns", "nt", "nz"}, tag) && t.End-t.Start > 3:
		return 1, 1
	case tag == "", strings.HasPrefix(tag, "n"), tag == "vn", tag == "j": // a user's words may have none
		return 0, 1
	}
	return 0, 0
}

// addWords adds the words of a user's dictionary. Those that are in no shipped dictionary are rare, whatever
// the corpus says.
func (l *lexicon) addWords(file string, normal func(string) string) error {
	added, err := l.AddWords(file, normal)
	for _, word := range added {
		delete(l.idf, xxh3.HashString(word))
	}
	return err
}
