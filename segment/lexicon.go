package segment

import (
	"bytes"
	"fmt"
	"math"
	"strconv"

	"github.com/go-ego/gse"
	"github.com/zeebo/xxh3"

	"jianguo/segment/cut"
)

// A lexicon is the dictionary with the document frequencies of its words and of others.
type lexicon struct {
	*cut.Dictionary
	// idf holds the inverse document frequencies of words by their hashes, 0 for a stop word.
	idf map[uint64]float32
	// rarest is the inverse document frequency of a word that was not seen in the corpus.
	rarest float32
}

// idfUnit is the fraction to which inverse document frequencies are rounded.
const idfUnit = 1. / 16

// unlisted is the document frequency of a word that is too rare for the table.
const unlisted = 2

// nameTags are the parts of speech of place, company, person and other names.
var nameTags = map[string]bool{"nr": true, "nrt": true, "nrfg": true, "ns": true, "nt": true, "nz": true}

// weigh reads the document frequencies (a first line "documents N", then lines "word n", most frequent first),
// and gives gse's stop words no weight.
func (l *lexicon) weigh(file []byte) error {
	var g gse.Segmenter
	if err := g.LoadStopEmbed(); err != nil {
		return err
	}
	l.idf = make(map[uint64]float32, bytes.Count(file, []byte("\n"))+len(g.StopWordMap))
	documents, before, idf := 0, 0, float32(0)
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

// quantize returns the inverse document frequency of a word in n documents.
func quantize(documents, n int) float32 {
	idf := math.Log((float64(documents) + 1) / (float64(n) + 0.5))
	return float32(max(1, min(255, math.Round(idf/idfUnit))) * idfUnit)
}

// weight returns the inverse document frequency of a word, given its hash; 0 for a stop word.
func (l *lexicon) weight(hash uint64) float32 {
	if idf, ok := l.idf[hash]; ok {
		return idf
	}
	return l.rarest
}

// names reports whether a word of the text is a name of two characters or more.
func (l *lexicon) names(t cut.Token) bool {
	return t.Word != 0 && t.End-t.Start > 3 && nameTags[l.Tag(t.Word)]
}

// addWords adds the words of a user's dictionary. Those that are in no shipped dictionary are rare, whatever
// the corpus says.
func (l *lexicon) addWords(file string, normal func(string) string) error {
	added, err := l.AddWords(file, normal)
	for _, word := range added {
		if hash := xxh3.HashString(word); l.idf[hash] != 0 {
			l.idf[hash] = l.rarest
		}
	}
	return err
}
