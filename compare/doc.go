// Package compare judges what a later text adds to an earlier one.
//
// Values flow one way: a Text becomes a Doc, prepared once; Align finds what two Docs have in common, passage by
// passage; News says what the later text has that the earlier one lacks, Conflicts what the two have at the same
// places; Judge decides by a few numbers, and leaves a trace. A Sketch is the small form of a Text that is kept of
// every article; it proposes and ranks, and never decides.
//
// All values are immutable, and every function is pure and safe for concurrent use. Work is bounded in steps, never
// by time, so that equal texts are judged equally everywhere: by the budgets of Limits.
package compare

import (
	"iter"
	"slices"
	"sort"
	"strings"
	"time"

	"github.com/zeebo/xxh3"

	"jianguo/compare/quantity"
	"jianguo/internal/headline"
)

// Text is what is compared of an article, as package segment makes it.
type Text struct {
	Title, Body string // normal forms: clauses are separated by '\n'
	// Words are the words of Form in order: the offset where each begins, times four, plus one for a name (a person,
	// place, company), plus two for a noun. None: not known.
	Words []int32
	// Traditional texts have other words for some things: 計程車 is a 出租车.
	Traditional bool
	Published   int32    // day of publication, in days since 1970; 0: unknown
	Learned     *Residue // clauses that carry no weight, learned of its source; nil: none
}

// Day is the day of a time for Text.Published; 0 before 1970, as for the zero time.
func Day(t time.Time) int32 { return int32(max(0, t.Unix()/(24*60*60))) }

// Form is what is compared: the body, of a short text with its headline.
func (t *Text) Form() string {
	if headline.Joins(t.Title, t.Body) {
		return t.Title + "\n" + t.Body
	}
	return t.Body
}

// Residue is a set of clauses by their hashes.
type Residue map[uint64]bool

// Behind marks a clause that stands behind headlines. No normal form has it.
const Behind = "_"

func (r Residue) has(clause string) bool { return r[HashClause(clause)] }

// HashClause is the hash of a clause of a normal form.
func HashClause(clause string) uint64 { return xxh3.HashString(clause) }

// valueMost bounds the quantities that are found in a text: more of them are a table.
const valueMost = 500

// Doc is a text prepared to be compared.
type Doc struct {
	Text     *Text
	Form     string
	tokens   []token          // without residue
	shingles []uint64         // by their first token
	distinct int              // how many of them
	k        int              // their length
	values   []quantity.Value // quantities of the tokens
	headline string
	title    []token // of the headline
}

// headlineMost is the length in bytes of what counts as a headline, of 200 Han characters: each of its words is sought
// in both texts.
const headlineMost = 600

// titleTails is how many clauses behind a headline may be the names of a site and its sections.
const titleTails = 3

// NewDoc prepares a text, which it keeps.
func NewDoc(text *Text) *Doc {
	d := &Doc{Text: text, Form: text.Form()}
	d.tokens = tokensOf(d.Form)
	for i, t := range d.tokens {
		if t.number() && quantity.Negative(d.Form, int(t.start)) { // a Sketch has none of this
			d.tokens[i].id ^= 1
		}
	}
	d.headline = text.heading()
	if text.Learned != nil {
		d.tokens = d.withoutResidue(*text.Learned)
	}
	d.k = min(shingleK, len(d.tokens))
	d.shingles = appendShingles(make([]uint64, 0, len(d.tokens)), d.tokens, d.k)
	d.distinct = countDistinct(d.shingles)
	d.findValues()
	d.title = tokensOf(d.headline)
	return d
}

// heading is the headline without what its source puts behind many of them and the body does not say, such as the name
// of the site.
func (t *Text) heading() string {
	title := strings.ToValidUTF8(t.Title[:min(len(t.Title), headlineMost)], "")
	for t.Learned != nil {
		end := strings.LastIndexByte(title, '\n')
		if end < 0 || !t.Learned.has(Behind+title[end+1:]) || strings.Contains(t.Body, title[end+1:]) {
			break
		}
		title = title[:end]
	}
	return title
}

// Tails are the last clauses of a headline of several that the body does not say, each marked with Behind.
func (t *Text) Tails() (out []string) {
	clauses := strings.Split(t.Title, "\n")
	for _, c := range clauses[max(1, len(clauses)-titleTails):] {
		if !strings.Contains(t.Body, c) {
			out = append(out, Behind+c)
		}
	}
	return out
}

// begins reports whether a token is the first of its clause.
func (d *Doc) begins(i int) bool {
	return i == 0 || strings.IndexByte(d.Form[d.tokens[i-1].end:d.tokens[i].start], '\n') >= 0
}

// withoutResidue returns the tokens without those clauses. One of names alone stays, unless it is behind the headline:
// two notices may differ in no more.
func (d *Doc) withoutResidue(residue Residue) []token {
	kept, k, end := make([]token, 0, len(d.tokens)), 0, 0
	for clause := range strings.SplitSeq(d.Form, "\n") {
		from := k
		for end += len(clause) + 1; k < len(d.tokens) && int(d.tokens[k].start) < end; k++ {
		}
		s := Span{end - len(clause) - 1, end - 1}
		behind := s.Start > len(d.headline) && s.Start < len(d.Form)-len(d.Text.Body) && residue.has(Behind+clause)
		if !behind && (!residue.has(clause) || d.onlyNames(s)) {
			kept = append(kept, d.tokens[from:k]...)
		}
	}
	return kept
}

// onlyNames reports whether a stretch of Form is names and nothing else.
func (d *Doc) onlyNames(s Span) bool {
	rest := s.End - s.Start
	for _, n := range d.names(s) {
		rest -= n.End - n.Start
	}
	return rest == 0
}

// findValues finds the quantities whose first number or digit is a token that is compared.
func (d *Doc) findValues() {
	for _, v := range quantity.Find(d.Form, d.wordAt, valueMost) {
		i := sort.Search(len(d.tokens), func(i int) bool { return int(d.tokens[i].end) > v.Start })
		if i < len(d.tokens) && int(d.tokens[i].start) < v.End {
			d.values = append(d.values, v)
		}
	}
}

// words yields the words that overlap with a stretch of Form, and whether they are names. A word goes up to the next
// one, without what separates them.
func (d *Doc) words(s Span) iter.Seq2[Span, bool] {
	return func(yield func(Span, bool) bool) {
		words := d.Text.Words
		i, _ := slices.BinarySearch(words, int32(4*s.Start+4)) // the first one behind Start
		for i = max(0, i-1); i < len(words) && int(words[i]>>2) < s.End; i++ {
			start, end := int(words[i]>>2), len(d.Form)
			if i+1 < len(words) {
				end = min(int(words[i+1]>>2), end)
			}
			w := Span{start, start + len(strings.TrimRight(d.Form[start:end], "\n "))}
			if w.End > s.Start && !yield(w, words[i]&1 == 1) {
				return
			}
		}
	}
}

// names are the names that overlap with a stretch of Form.
func (d *Doc) names(s Span) (out []Span) {
	for w, name := range d.words(s) {
		if name {
			out = append(out, w)
		}
	}
	return out
}

// noun reports whether a word that begins in a stretch of Form is a noun.
func (d *Doc) noun(s Span) bool {
	from, _ := slices.BinarySearch(d.Text.Words, int32(4*s.Start))
	to, _ := slices.BinarySearch(d.Text.Words, int32(4*s.End))
	return slices.ContainsFunc(d.Text.Words[from:to], func(w int32) bool { return w&2 != 0 })
}

// Span is Form[Start:End].
type Span struct{ Start, End int }

func (d *Doc) text(s Span) string { return d.Form[s.Start:s.End] }

// Clause is the clause around an offset of Form.
func (d *Doc) Clause(offset int) Span {
	rest, _, _ := strings.Cut(d.Form[offset:], "\n")
	return Span{strings.LastIndexByte(d.Form[:offset], '\n') + 1, offset + len(rest)}
}

// wordAt reports whether a word begins at an offset of Form. Where words are not known, one does everywhere.
func (d *Doc) wordAt(offset int) bool {
	words := d.Text.Words
	i, _ := slices.BinarySearch(words, int32(4*offset))
	return len(words) == 0 || i < len(words) && int(words[i]>>2) == offset
}

// Size is about how many bytes a Doc takes, its text included.
func (d *Doc) Size() int64 {
	return int64(len(d.Form)+len(d.Text.Title)) + 4*int64(len(d.Text.Words)) +
		12*int64(len(d.tokens)+len(d.title)) + 8*int64(len(d.shingles)) + 64*int64(len(d.values))
}

// Tokens are the spans of the Han characters, Latin words and numbers that are compared.
func (d *Doc) Tokens() []Span {
	out := make([]Span, len(d.tokens))
	for i, t := range d.tokens {
		out[i] = Span{int(t.start), int(t.end)}
	}
	return out
}
