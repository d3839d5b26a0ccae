package segment

import (
	"bytes"
	"unsafe"
)

// Term is one weighted feature of a text.
type Term struct {
	Text   string  // for people: the words, as they stand in the content
	Hash   uint64  // xxh3 of the word, or a mixture of two words'; what simhash.Sum wants
	Weight float32 // > 0
}

// Text is what an article comes to. It can be used again by the next Analyze
// (its buffers are kept), and then everything it handed out changes: clone
// strings that must last. Copies of a Text share its buffers.
type Text struct {
	// Title and Body are the normal forms. Clauses are separated by one '\n';
	// nothing else but letters, digits, single spaces between Latin words, and
	// the punctuation that is part of a number (3.5%, 12:30, 2023-08-09)
	// remains. Page residue is not in them.
	Title, Body string
	// Sentences and Paragraphs are the offsets in Body where sentences and
	// paragraphs begin, in order; the first is 0 unless Body is empty. Every
	// paragraph begins a sentence.
	Sentences, Paragraphs []int32
	// Exact is a 128-bit hash of the content without its separators: equal for
	// two articles that differ only in form or page residue. Zero for Blank.
	Exact [16]byte
	// Blank says that nothing is left to compare: no letter and no digit.
	Blank bool
	// Terms are the features of the fingerprint; none only for Blank.
	Terms []Term
	// Names are the place, company, person and other names that the dictionary
	// knows, of two characters or more, in order of appearance, as often as they
	// appear. They come from
	// the same content as Terms, and lie within a clause.
	Names []string

	title, body       normalizer
	titleOut, bodyOut []byte
	spans             []span
	// content is Body, or Title and Body, without separators but for single
	// spaces where two Latin words would run together.
	content []byte
	// ends are the offsets in content where clauses end.
	ends     []int32
	walker   walker
	words    []token
	features features
}

func (t *Text) reset() {
	t.Exact = [16]byte{}
	t.Terms, t.Names = t.Terms[:0], t.Names[:0]
	t.Sentences, t.Paragraphs = t.Sentences[:0], t.Paragraphs[:0]
	t.content, t.ends, t.words = t.content[:0], t.ends[:0], nil
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

// divide fills Sentences and Paragraphs.
func (t *Text) divide() {
	if len(t.bodyOut) == 0 {
		return
	}
	t.Sentences, t.Paragraphs = append(t.Sentences, 0), append(t.Paragraphs, 0)
	for _, b := range t.body.breaks {
		t.Sentences = append(t.Sentences, int32(b.at+1))
		if b.class == paragraph {
			t.Paragraphs = append(t.Paragraphs, int32(b.at+1))
		}
	}
}

// join appends a normal form to the content.
func (t *Text) join(form []byte) {
	for len(form) > 0 {
		clause := form
		if i := bytes.IndexByte(form, '\n'); i >= 0 {
			clause, form = form[:i], form[i+1:]
		} else {
			form = nil
		}
		if t.body.folds.spaced(t.content, clause) {
			t.content = append(t.content, ' ')
		}
		t.content = append(t.content, clause...)
		t.ends = append(t.ends, int32(len(t.content)))
	}
}

// findNames fills Names.
func (t *Text) findNames(d *dictionary) {
	k := 0
	for _, w := range t.words {
		for t.ends[k] <= w.start {
			k++
		}
		if w.node != 0 && d.name[d.trie.pos[w.node]] && w.end <= t.ends[k] && w.end-w.start > 3 {
			t.Names = append(t.Names, view(t.content[w.start:w.end]))
		}
	}
}

// shortTitle is the length in bytes below which a headline may be any words.
const shortTitle = 18

// repeated adds the span of a headline that the body begins with, if the body
// goes on.
func repeated(spans []span, title, body []byte, f *folds) []span {
	if len(title) < shortTitle {
		return spans
	}
	start, i := 0, 0
	if len(spans) > 0 && spans[0].start == 0 {
		start, i = spans[0].end, spans[0].end // 原标题 goes before a headline
	}
	for _, b := range title {
		if separator(b) {
			continue
		}
		for i < len(body) && separator(body[i]) {
			i++
		}
		if i == len(body) || body[i] != b {
			return spans
		}
		i++
	}
	if i == len(body) || f.splits(body, i) {
		return spans
	}
	return insert(spans, span{start, i})
}

// view is b as a string, without a copy: good as long as b stays the same.
func view(b []byte) string { return unsafe.String(unsafe.SliceData(b), len(b)) }
