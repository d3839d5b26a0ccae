// Package segment turns an article into its normal form and its weighted
// terms. gse lives here and nowhere else.
package segment

import (
	"fmt"
	"io/fs"
	"math"
	"unicode/utf8"
	"unsafe"

	"github.com/go-ego/gse"
	"github.com/zeebo/xxh3"
)

// Config says which tables a Segmenter is built from. Data is required.
type Config struct {
	// Data holds the shipped tables (package data's FS).
	Data fs.FS
	// UserDict is the path of an optional gse dictionary (word freq pos).
	UserDict string
	// Residue is the path of an optional list of further page residue.
	Residue string
}

// Segmenter is safe for concurrent use; it never changes after New.
type Segmenter struct {
	recipe string
	folds  *folds
	gse    gse.Segmenter
}

// New loads the tables.
func New(cfg Config) (*Segmenter, error) {
	s := &Segmenter{folds: newFolds(nil)}
	s.gse.SkipLog, s.gse.NotLoadHMM = true, true
	if err := s.gse.LoadDictEmbed("zh_s"); err != nil {
		return nil, fmt.Errorf("load dictionary: %w", err)
	}
	if err := s.gse.LoadStopEmbed(); err != nil {
		return nil, fmt.Errorf("load stop words: %w", err)
	}
	s.recipe = fmt.Sprintf("%016x", xxh3.HashString("jianguo segment 0"))
	return s, nil
}

// Recipe is 16 hexadecimal digits that name everything the result depends on:
// the code's version, dictionary, weights, variant tables, residue list.
func (s *Segmenter) Recipe() string { return s.recipe }

// Term is one weighted feature of a text.
type Term struct {
	Text   string  // for people: what the feature is
	Hash   uint64  // xxh3 of the feature, what simhash.Sum wants
	Weight float32 // > 0
}

// Text is what an article comes to. It can be used again by the next Analyze
// (its buffers are kept), and then everything it handed out changes.
type Text struct {
	// Title and Body are the normal forms. Clauses are separated by one '\n';
	// nothing else but letters, digits, single spaces between Latin words, and
	// the punctuation that is part of a number (3.5%, 12:30) remains. Page
	// residue is not in them.
	Title, Body string
	// Exact is a 128-bit hash of the content without its separators: equal for
	// two articles that differ only in form or page residue. Zero for Blank.
	Exact [16]byte
	// Blank says that nothing is left to compare: no letter and no digit.
	Blank bool
	// Terms are the features of the fingerprint; Names the place, company and
	// person names that the dictionary knows, in order of appearance.
	Terms []Term
	Names []string

	title, form   normalizer
	content       []byte
	titleB, bodyB []byte
}

// Analyze fills t from an article; body is plain text or HTML. It never fails:
// any bytes have a normal form.
func (s *Segmenter) Analyze(t *Text, title, body string) {
	t.title.folds, t.form.folds = s.folds, s.folds
	t.title.reset(t.titleB)
	t.title.body(title)
	t.titleB = t.title.end()
	t.form.reset(t.bodyB)
	t.form.body(body)
	t.bodyB = t.form.end()
	t.Title, t.Body = view(t.titleB), view(t.bodyB)
	t.Blank = len(t.titleB)+len(t.bodyB) == 0
	t.Exact = [16]byte{}
	t.Terms, t.Names = t.Terms[:0], t.Names[:0]
	if t.Blank {
		return
	}
	t.content = appendContent(t.content[:0], t.titleB, t.bodyB)
	t.Exact = xxh3.Hash128(t.content).Bytes()
	s.terms(t)
}

// shortBody is the length, in bytes of normal form, below which a body does
// not speak for itself and the headline counts as part of the text.
const shortBody = 180

func appendContent(dst, title, body []byte) []byte {
	if len(body) < shortBody {
		dst = appendJoined(dst, title)
	}
	return appendJoined(dst, body)
}

// appendJoined appends a normal form without its separators, except where two
// words would run together.
func appendJoined(dst, form []byte) []byte {
	for i, b := range form {
		if b == '\n' {
			if !spaced(form[i-1]) || !spaced(form[i+1]) {
				continue
			}
			b = ' '
		}
		dst = append(dst, b)
	}
	return dst
}

// spaced reports whether a byte belongs to a Latin word or number.
func spaced(b byte) bool { return b < utf8.RuneSelf }

func (s *Segmenter) terms(t *Text) {
	tf := map[string]int{}
	var order []string
	for _, seg := range s.gse.Segment(t.content) {
		w := string(t.content[seg.Start():seg.End()])
		if w == " " || s.gse.IsStop(w) {
			continue
		}
		switch seg.Token().Pos() {
		case "nr", "ns", "nt", "nz", "nrt", "nrfg":
			t.Names = append(t.Names, w)
		}
		if allDigits([]byte(w)) {
			continue
		}
		if tf[w]++; tf[w] == 1 {
			order = append(order, w)
		}
	}
	for _, w := range order {
		idf := 8.0
		if freq, _, ok := s.gse.Dict.Find([]byte(w)); ok && freq > 1 {
			idf = max(1, 16-math.Log(freq))
		}
		t.Terms = append(t.Terms, Term{w, xxh3.HashString(w), float32((1 + math.Log(float64(tf[w]))) * idf)})
	}
}

func view(b []byte) string { return unsafe.String(unsafe.SliceData(b), len(b)) }
