package segment

import (
	"bytes"
	"slices"

	"jianguo/internal/headline"
	"jianguo/segment/cut"
)

// Text is the result of Analyze. The next Analyze may use it again (its buffers are kept), and then everything
// read from it changes: clone strings that must last. Copies of a Text share its buffers.
type Text struct {
	Recipe string // of the Segmenter, when it analysed the text
	// Title and Body are the normal forms without page residue. Clauses are separated by one '\n'; apart from
	// that only letters, digits, single spaces between Latin words, and the punctuation of numbers (3.5%,
	// 12:30, 2023-08-09, 2.4亿-2.8亿) remain.
	Title, Body string
	// Exact is a 128-bit hash of the content: equal for two articles that differ only in form or page residue.
	// Zero for a blank text.
	Exact [16]byte
	// Traditional reports that more than a tenth of the body's characters were traditional ones.
	Traditional bool
	// Blank reports that there is no letter and no digit left to compare.
	Blank bool
	// Terms are the features of the fingerprint; none only for Blank.
	Terms []Term
	// Begins are the words of what is compared, which is Body, or Title, a '\n' and Body where the body is short: the
	// offset where each begins, times four, plus one for a place, company, person or other name of two characters or
	// more, and for a word of that length in the title of a work, 《…》, plus two for a noun.
	Begins []int32

	title, body normalizer
	// content is Body, or Title and Body, with single spaces between Latin words and no other separators.
	content  []byte
	form     []byte // of a short text
	cutter   cut.Cutter
	features features
	words    []cut.Token
}

func (t *Text) reset() {
	t.Exact = [16]byte{}
	t.Terms, t.Begins = t.Terms[:0], t.Begins[:0]
	t.content, t.words = t.content[:0], nil
}

// Words yields the words of the content in order, stop words and numbers included. They last.
func (t *Text) Words(yield func(string) bool) {
	content := string(t.content)
	for _, w := range t.words {
		if !yield(content[w.Start:w.End]) {
			return
		}
	}
}

// findWords fills Begins: content has no clause breaks, and a space for one between Latin words.
func (t *Text) findWords(l *lexicon) {
	form := t.body.out
	if t.headed() {
		form = append(append(append(t.form[:0], t.Title...), '\n'), t.Body...)
		t.form = form
	}
	titles := t.titles(form)
	end, shift := 0, 0 // of the clause, in form; from content to form
	for _, w := range t.words {
		for end <= int(w.Start)+shift {
			if form[end] == '\n' && t.content[end-shift] != ' ' {
				shift++
			}
			if n := bytes.IndexByte(form[end+1:], '\n'); n >= 0 {
				end += 1 + n
			} else {
				end = len(form)
			}
		}
		start := int(w.Start) + shift
		for len(titles) > 0 && titles[0].end <= start {
			titles = titles[1:]
		}
		name, noun := l.class(w)
		if len(titles) > 0 && titles[0].start <= start && w.End-w.Start > 3 {
			name = 1
		}
		t.Begins = append(t.Begins, int32(start)<<2|noun<<1|name)
	}
}

// titles are the places of the titles of works in form.
func (t *Text) titles(form []byte) (out []span) {
	titles, at := t.body.titles, 0
	if t.headed() {
		titles = slices.Concat(t.title.titles, titles)
	}
	for _, title := range titles {
		title := bytes.Trim([]byte(title), "\n ")
		if i := bytes.Index(form[at:], title); i >= 0 {
			out = append(out, span{at + i, at + i + len(title)})
			at = out[len(out)-1].end
		}
	}
	return out
}

// headed reports that the body says too little alone, and is read with its headline before it.
func (t *Text) headed() bool { return headline.Joins(t.Title, t.Body) }

// join appends a normal form to the content.
func (t *Text) join(form []byte) {
	for clause := []byte(nil); len(form) > 0; {
		clause, form, _ = bytes.Cut(form, []byte("\n"))
		if t.body.folds.spaced(t.content, clause) {
			t.content = append(t.content, ' ')
		}
		t.content = append(t.content, clause...)
	}
}
