// Package reason puts a judgement into a sentence of about forty characters, in Chinese or English: the relation, and
// the one decisive thing.
//
// Facts are made where a pair is judged, since everything that is said is checked against the whole of both originals
// then: a quotation is a piece of the article as it was published, and stands nowhere in the other text. What fails
// the check is left out. Sentence only writes down what the Facts hold.
package reason

import (
	"cmp"
	"math"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"jianguo/compare"
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
	Conflict [][2]string `json:"conflict,omitempty"` // what both say at one place: the item, the earlier text
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
	Quotes     []string `json:"quotes,omitempty"` // the sentence of them that says most, or clauses of it
}

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
		if j.Kind == compare.Series || j.Reason == compare.Update {
			f.Conflict = p.conflicts()
		}
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
	sought         int // bytes of originals that were searched
}

// seekWork bounds the bytes of originals that are searched for what may be quoted: what is behind is not quoted.
const seekWork = 1 << 25

// spent counts one more search, and reports whether it is beyond the bound.
func (p *pair) spent() bool {
	p.sought += len(p.later.Text) + len(p.later.Form) + len(p.earlier.Text) + len(p.earlier.Form)
	return p.sought > seekWork
}

// at is where in Text a piece of the normal form stands; ok: it stands there.
func (o *Original) at(form string) (start, end int, ok bool) {
	i := strings.Index(o.Form, form)
	if i < 0 || form == "" {
		return 0, 0, false
	}
	start, _ = o.Origin(i)
	if _, end = o.Origin(i + len(form) - 1); start < 0 || end <= start {
		return 0, 0, false
	}
	return start, end, true
}

// literal is the part of an original that a piece of its normal form comes from; empty if it is not there as a whole.
func (o *Original) literal(form string) string {
	start, end, ok := o.at(form)
	if rest := strings.TrimLeft(o.Text[end:], "."); !ok || rest != "" && unicode.IsDigit(rune(rest[0])) {
		return "" // or it ends inside a number
	}
	return whole(o.Text[start:end])
}

// whole is a piece of text without space around it; empty if it goes over lines, or opens a quotation or bracket that
// it does not close, or the reverse.
func whole(text string) string {
	text = strings.TrimSpace(text)
	if strings.ContainsAny(text, "\n\t") || strings.Count(text, `"`)%2 == 1 {
		return ""
	}
	for _, marks := range []string{"“”", "‘’", "（）", "()", "《》", "「」", "【】", "[]"} {
		open, size := utf8.DecodeRuneInString(marks)
		if strings.Count(text, string(open)) != strings.Count(text, marks[size:]) {
			return ""
		}
	}
	return text
}

// lacks reports whether an original has a piece of text nowhere, as it is written or in its normal form.
func (o *Original) lacks(text, form string) bool {
	return !strings.Contains(o.Text, text) && !strings.Contains(o.Form, form)
}

// Bounds of what both texts are quoted for, in characters.
const (
	sideMost   = 24 // of one text
	clauseMost = 22 // of a clause that is quoted whole
	figureMost = 8  // before a quantity of a longer clause
	placesMost = 2
	// recursLeast is how often words are said that are a subject, though no name: others may be synonyms.
	recursLeast = 3
)

// place is where two clauses of one frame differ: two pieces of the normal forms, in whole words.
type place struct {
	later, earlier compare.Span
	recurs         int // how often both texts say their name; 0: it is a quantity
}

// places are those where the texts have other quantities, or names that the other text has nowhere.
func (p *pair) places() (out []place) {
	l, e := p.j.Later.Doc, p.j.Earlier.Doc
	p.j.Gaps(func(a, b compare.Span) {
		as, bs := l.Pieces(a), e.Pieces(b)
		if len(as) != len(bs) {
			as, bs = as[:1], bs[:1]
		}
		for i := range as {
			if p.spent() {
				return
			}
			x, knownX := l.Name(as[i])
			y, knownY := e.Name(bs[i])
			nameX, nameY := l.Form[x.Start:x.End], e.Form[y.Start:y.End]
			recurs := min(strings.Count(l.Form, nameX), strings.Count(e.Form, nameY))
			if nameX != "" && nameY != "" && !e.Has(nameX) && !l.Has(nameY) &&
				(knownX && knownY || recurs >= recursLeast) {
				out = append(out, place{x, y, recurs})
			}
			if x, y, ok := p.j.Disagree(as[i], bs[i]); ok {
				out = append(out, place{later: x, earlier: y})
			}
		}
	})
	return out
}

// conflicts are what both texts have at the same places: the name that recurs most, then quantities in their order.
func (p *pair) conflicts() (out [][2]string) {
	all, said, named := p.places(), "", false
	slices.SortStableFunc(all, func(a, b place) int { return cmp.Compare(b.recurs, a.recurs) })
	for _, c := range all {
		if p.spent() {
			break
		}
		if c.recurs > 0 && named || strings.Contains(said, p.j.Later.Form[c.later.Start:c.later.End]) {
			continue
		}
		a, b := p.clauses(c)
		if len(out) > 0 && strings.Contains(a, out[0][0]) && strings.Contains(b, out[0][1]) {
			out, said = nil, "" // the name again, with a quantity
		}
		if a == "" || said != "" && utf8.RuneCountInString(said+a) > sideMost || len(out) == placesMost {
			continue
		}
		out = append(out, [2]string{a, b})
		said, named = said+a, named || c.recurs > 0
	}
	if s := p.j.Agreement.Subject; len(out) == 0 && s[0] != "" {
		if a, b := p.later.literal(s[0]), p.earlier.literal(s[1]); a != "" && b != "" {
			out = append(out, [2]string{a, b})
		}
	}
	return out
}

// clauses are the clauses of a place as they were published, if both are short, or else the pieces that differ.
func (p *pair) clauses(c place) (later, earlier string) {
	l, e := p.j.Later.Doc, p.j.Earlier.Doc
	x, y := l.Clause(c.later.Start), e.Clause(c.earlier.Start)
	if max(characters(l, x), characters(e, y)) > clauseMost {
		if x, y = c.later, c.earlier; c.recurs == 0 {
			x, y = l.Phrase(x, figureMost), e.Phrase(y, figureMost)
		}
	}
	formX, formY := l.Form[x.Start:x.End], e.Form[y.Start:y.End]
	later, earlier = p.later.literal(formX), p.earlier.literal(formY)
	if !says(later) || !says(earlier) || !p.earlier.lacks(later, formX) || !p.later.lacks(earlier, formY) {
		return "", ""
	}
	return later, earlier
}

func characters(d *compare.Doc, s compare.Span) int {
	return utf8.RuneCountInString(d.Form[s.Start:s.End])
}

// says reports whether a text has letters, and nothing that ends a sentence.
func says(text string) bool {
	return strings.ContainsFunc(text, unicode.IsLetter) && !strings.ContainsAny(text, "，。；！？,;!?")
}
