// Package segment turns an article into its normal form and its weighted
// terms. gse lives here and nowhere else.
package segment

import (
	"fmt"
	"io/fs"
	"unicode/utf8"
	"unsafe"

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
	recipe  string
	folds   *folds
	dict    *dictionary
	residue residue
}

// New loads the tables.
func New(cfg Config) (*Segmenter, error) {
	s := &Segmenter{}
	file, err := fs.ReadFile(cfg.Data, "tables/variants.txt")
	if err != nil {
		return nil, err
	}
	v, err := readVariants(file)
	if err != nil {
		return nil, fmt.Errorf("tables/variants.txt: %w", err)
	}
	s.folds = newFolds(v)
	list, err := fs.ReadFile(cfg.Data, "tables/residue.txt")
	if err != nil {
		return nil, err
	}
	if err := s.residue.add(string(list), s.normal); err != nil {
		return nil, fmt.Errorf("tables/residue.txt: %w", err)
	}
	if s.dict, err = newDictionary(cfg.Data); err != nil {
		return nil, err
	}
	df, err := fs.ReadFile(cfg.Data, "tables/df.txt")
	if err != nil {
		return nil, err
	}
	if err := s.dict.weigh(string(df)); err != nil {
		return nil, fmt.Errorf("tables/df.txt: %w", err)
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

	title, body       normalizer
	titleOut, bodyOut []byte
	content           []byte
	walker            walker
	words             []token
	features          features
	spans             []span
}

// Analyze fills t from an article; body is plain text or HTML. It never fails:
// any bytes have a normal form.
func (s *Segmenter) Analyze(t *Text, title, body string) {
	t.title.folds, t.body.folds = s.folds, s.folds
	t.title.reset(t.titleOut)
	t.title.body(title)
	t.titleOut = t.title.end()
	t.body.reset(t.bodyOut)
	t.body.body(body)
	t.bodyOut = t.body.end()
	if t.spans = s.residue.find(t.spans[:0], t.bodyOut, t.body.breaks); len(t.spans) > 0 {
		t.bodyOut, t.body.breaks = remove(t.bodyOut, t.spans, t.body.breaks)
	}
	t.Title, t.Body = view(t.titleOut), view(t.bodyOut)
	t.Blank = len(t.titleOut)+len(t.bodyOut) == 0
	t.Exact = [16]byte{}
	t.Terms, t.Names, t.words = t.Terms[:0], t.Names[:0], nil
	if t.Blank {
		return
	}
	t.content = appendContent(t.content[:0], t.titleOut, t.bodyOut)
	t.Exact = xxh3.Hash128(t.content).Bytes()
	t.words = t.walker.cut(s.dict, t.content)
	t.features.of(t, s.dict)
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

// normal is the normal form of plain text.
func (s *Segmenter) normal(text string) string {
	var n normalizer
	n.folds = s.folds
	n.reset(nil)
	n.text(text)
	return string(n.end())
}

// Words yields the words of the content in order, stop words and numbers
// included.
func (t *Text) Words(yield func(string) bool) {
	for _, w := range t.words {
		if !yield(view(t.content[w.start:w.end])) {
			return
		}
	}
}

func view(b []byte) string { return unsafe.String(unsafe.SliceData(b), len(b)) }
