// Package segment turns an article into its normal form and its weighted
// terms. gse lives here and nowhere else.
package segment

import "io/fs"

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
}

// New loads the tables.
func New(cfg Config) (*Segmenter, error) { return &Segmenter{recipe: "unset"}, nil }

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
	// the punctuation that is part of a number (3.5%, 12:30) remains.
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
}

// Analyze fills t from an article; body is plain text or HTML. It never fails:
// any bytes have a normal form.
func (s *Segmenter) Analyze(t *Text, title, body string) {}
