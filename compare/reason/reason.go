// Package reason puts a judgement into a sentence of about forty characters, in Chinese or English: the relation, and
// the one decisive thing.
//
// Facts are made where a pair is judged, since everything that is said is checked against the whole of both originals
// then: a quotation is a piece of the article as it was published, and a value that is said to be missing is nowhere
// in the other text. What fails the check is left out. Sentence only writes down what the Facts hold.
package reason

import (
	"cmp"
	"math"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"jianguo/compare"
	"jianguo/compare/quantity"
)

// Original is an article as it was published, and its normal form.
type Original struct {
	Text string // headline and body as a reader sees them
	Form string
	// Origin gives the bytes of Text that byte i of Form comes from.
	Origin func(i int) (start, end int)
}

// Facts say how an item and the earlier text it was judged against go together.
type Facts struct {
	Reason   string      `json:"reason"`             // a reason of package compare
	Coverage *Coverage   `json:"coverage,omitempty"` // nil: the texts were not aligned
	New      *New        `json:"new,omitempty"`      // nil: likewise
	Lacks    int         `json:"lacks,omitempty"`    // characters that only the earlier text has
	Conflict [][2]string `json:"conflict,omitempty"` // values and names at one place: the item's, the earlier text's
}

// Coverage is what share of each text stands in the other one, 0…1.
type Coverage struct {
	Later   float32 `json:"later"` // of the item
	Earlier float32 `json:"earlier"`
}

// New is what the item has and the earlier text has not.
type New struct {
	Share      float32  `json:"share"`            // of the item
	Characters int      `json:"characters"`       // of its own clauses
	Facts      int      `json:"facts"`            // distinct quantities
	Quotes     []string `json:"quotes,omitempty"` // a few of them with their words, or a clause, cut from the article
}

// Bounds of what is quoted, in characters.
const (
	quoteMost  = 40 // of all quotes together
	clauseMost = 20 // of a clause that is quoted for its quantity
	figureMost = 10 // before a quantity of a longer clause
	quotesMost = 3
)

// Of is what is said of a judgement. later and earlier give the originals, and are called only where something is
// quoted.
func Of(j *compare.Judgement, later, earlier func() *Original) *Facts {
	f := &Facts{Reason: j.Reason}
	x := j.Alignment
	if x == nil || len(j.Trace) < 2 || j.Kind == compare.Unrelated {
		return f
	}
	f.Coverage = &Coverage{round(x.Later.Covered), round(x.Earlier.Covered)}
	f.New = &New{Share: round(j.New.Share), Characters: j.New.Characters, Facts: len(j.New.Values)}
	f.Lacks = j.Lacks.Characters
	if j.Kind == compare.Suspect || j.Kind == compare.Series {
		p := pair{j: j, later: later(), earlier: earlier()}
		f.Conflict = p.conflicts()
		if j.Kind == compare.Suspect {
			f.New.Quotes = p.quotes()
		}
	}
	return f
}

func round(v float32) float32 { return float32(math.Round(float64(v)*100) / 100) }

// pair is a judgement with both originals.
type pair struct {
	j              *compare.Judgement
	later, earlier *Original
}

// literal is the part of an original that a piece of its normal form comes from; empty if it is not there as a whole.
func (o *Original) literal(form string) string {
	at := strings.Index(o.Form, form)
	if at < 0 || form == "" {
		return ""
	}
	start, _ := o.Origin(at)
	_, end := o.Origin(at + len(form) - 1)
	if start < 0 || end <= start {
		return ""
	}
	text := strings.TrimSpace(o.Text[start:end])
	if strings.ContainsAny(text, "\n\t") || !balanced(text) {
		return ""
	}
	return text
}

// balanced reports whether a piece of text opens no quotation or bracket that it does not close, and the reverse.
func balanced(text string) bool {
	for _, marks := range []string{"“”", "‘’", "（）", "()", "《》", "「」", "【】", "[]"} {
		open, size := utf8.DecodeRuneInString(marks)
		if strings.Count(text, string(open)) != strings.Count(text, marks[size:]) {
			return false
		}
	}
	return strings.Count(text, `"`)%2 == 0
}

// lacks reports whether an original has a piece of text nowhere, as it is written or in its normal form.
func (o *Original) lacks(text, form string) bool {
	return !strings.Contains(o.Text, text) && !strings.Contains(o.Form, form)
}

// quotes are the item's new quantities, those that stand first in the text first, each with its clause or the words
// before it; or, where there are none, its longest new clause.
func (p *pair) quotes() (out []string) {
	d := p.j.Later.Doc
	room := quoteMost
	add := func(s compare.Span) bool {
		form := d.Form[s.Start:s.End]
		text := p.later.literal(form)
		n := utf8.RuneCountInString(text)
		if n == 0 || n > room || !p.earlier.lacks(text, form) || slices.Contains(out, text) {
			return false
		}
		out, room = append(out, text), room-n
		return true
	}
	for _, i := range p.j.New.Values {
		if v := d.Value(i); len(out) < quotesMost && telling(v) {
			add(p.figure(v))
		}
	}
	if len(out) > 0 {
		return out
	}
	clauses := slices.Clone(p.j.New.Clauses)
	slices.SortStableFunc(clauses, func(a, b compare.Span) int { return cmp.Compare(b.End-b.Start, a.End-a.Start) })
	for _, c := range clauses {
		if add(c) {
			break
		}
	}
	return out
}

// telling reports whether a quantity says something by itself: a number without a unit may be a telephone's, and
// every article has dates.
func telling(v *quantity.Value) bool { return v.Unit != "" || v.Kind == quantity.Pair }

// figure is the clause of a quantity, if it is short, or else the words before it.
func (p *pair) figure(v *quantity.Value) compare.Span {
	d := p.j.Later.Doc
	s := d.Clause(v.Start)
	if s.Start <= v.Start && v.End <= s.End && utf8.RuneCountInString(d.Form[s.Start:s.End]) <= clauseMost {
		return s
	}
	start := v.Start
	for i := v.Start; i > s.Start && utf8.RuneCountInString(d.Form[i:v.Start]) < figureMost; {
		_, size := utf8.DecodeLastRuneInString(d.Form[:i])
		if i -= size; d.WordAt(i) {
			start = i
		}
	}
	return compare.Span{Start: start, End: v.End}
}

const conflictsMost = 3

// conflicts are what both texts have at the same places: names first, then dates, then other values.
func (p *pair) conflicts() (out [][2]string) {
	l, e := p.j.Later.Doc, p.j.Earlier.Doc
	rank := func(c compare.Conflict) int {
		switch {
		case c.Name:
			return 0
		case l.Value(c.Values[0]).Kind == quantity.Date:
			return 1
		}
		return 2
	}
	all := slices.DeleteFunc(slices.Clone(p.j.Agreement.Conflicts), func(c compare.Conflict) bool {
		return c.Name && !c.Subject // synonyms, perhaps
	})
	slices.SortStableFunc(all, func(a, b compare.Conflict) int { return cmp.Compare(rank(a), rank(b)) })
	forms := [][2]string{p.j.Agreement.Subject}
	for _, c := range all {
		forms = append(forms, [2]string{l.Form[c.Later.Start:c.Later.End], e.Form[c.Earlier.Start:c.Earlier.End]})
	}
	for _, c := range forms {
		a, b := p.later.literal(c[0]), p.earlier.literal(c[1])
		if a == "" || b == "" || !says(a) || !says(b) || !p.earlier.lacks(a, c[0]) || !p.later.lacks(b, c[1]) {
			continue
		}
		again := func(o [2]string) bool { return o[0] == a || o[1] == b }
		if len(out) < conflictsMost && !slices.ContainsFunc(out, again) {
			out = append(out, [2]string{a, b})
		}
	}
	return out
}

// says reports whether a text has a letter or digit, and nothing that ends a sentence.
func says(text string) bool {
	return strings.ContainsFunc(text, func(r rune) bool { return unicode.IsLetter(r) || unicode.IsDigit(r) }) &&
		!strings.ContainsAny(text, "，。；！？,;!?")
}
