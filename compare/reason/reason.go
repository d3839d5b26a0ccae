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
		if j.Kind == compare.Series || j.Reason == compare.Replaced {
			f.Conflict = p.conflicts()
		}
		if len(f.Conflict) == 0 && (j.Kind == compare.Series || reasons[j.Reason][1][0] == "") {
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
	told           []uint64 // pieces of the earlier text
	numbers        []string // of its digits
	sought         int      // bytes of originals that were searched
}

// seekWork bounds the bytes of originals that are searched for what may be quoted: what is behind is not quoted.
const seekWork = 1 << 25

// spent counts one more search, and reports whether it is beyond the bound.
func (p *pair) spent() bool {
	p.sought += len(p.later.Text) + len(p.later.Form) + len(p.earlier.Text) + len(p.earlier.Form)
	return p.sought > seekWork
}

// literal is the part of an original that a piece of its normal form comes from, widened to the next of some marks;
// empty if it is long, or not there as a whole.
func (o *Original) literal(form, marks string) string {
	i := strings.Index(o.Form, form)
	if i < 0 || form == "" {
		return ""
	}
	start, _ := o.Origin(i)
	_, end := o.Origin(i + len(form) - 1)
	if start < 0 || end <= start {
		return ""
	}
	if rest := strings.TrimLeft(o.Text[end:], "."); rest != "" && unicode.IsDigit(rune(rest[0])) {
		return "" // it ends inside a number
	}
	if marks != "" {
		start = max(0, strings.LastIndexAny(o.Text[:start], marks))
		if n := strings.IndexAny(o.Text[end:], marks); n >= 0 {
			end += n
		} else {
			end = len(o.Text)
		}
	}
	if r, _ := utf8.DecodeLastRuneInString(o.Text[:start]); unicode.IsDigit(rune(o.Text[start])) &&
		strings.ContainsRune("-−－", r) {
		return "" // it begins behind a sign
	}
	said := strings.Trim(o.Text[start:end], marks)
	if utf8.RuneCountInString(said) > sideMost {
		return ""
	}
	return balanced(said)
}

// balanced is a piece of text without space around it; empty if it goes over lines, or opens a quotation or bracket
// that it does not close, or the reverse.
func balanced(text string) string {
	text = strings.TrimSpace(text)
	if strings.ContainsAny(text, "\n\t") {
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

// Bounds of what both texts are quoted for, in characters.
const (
	sideMost   = 24 // of one text
	placesMost = 2
)

// place is where two clauses of one frame differ: two pieces of the normal forms, in whole words.
type place struct {
	later, earlier compare.Span
	rank           int // which is said first: words by how often both texts have them, from 2 on, a day 1, a quantity 0
}

// places are those where the texts have other quantities, or words that recur and that the other text has nowhere.
func (p *pair) places() (out []place) {
	l, e := p.j.Later.Doc, p.j.Earlier.Doc
	p.j.Gaps(func(a, b compare.Span) {
		if p.spent() {
			return
		}
		as, bs := l.Pieces(a), e.Pieces(b)
		if len(as) != len(bs) {
			as, bs = as[:1], bs[:1]
		}
		for i := range as {
			x, y := l.Name(as[i]), e.Name(bs[i])
			nameX, nameY := l.Form[x.Start:x.End], e.Form[y.Start:y.End]
			recurs := min(strings.Count(l.Form, nameX), strings.Count(e.Form, nameY))
			if nameX != "" && nameY != "" && !e.Has(nameX) && !l.Has(nameY) && recurs > 1 {
				out = append(out, place{x, y, recurs})
			}
			x, y, date, ok := p.j.Disagree(as[i], bs[i])
			if ok && (date || l.Phrase(x).Start < x.Start && e.Phrase(y).Start < y.Start) {
				out = append(out, place{x, y, map[bool]int{true: 1}[date]})
			}
		}
	})
	return out
}

// conflicts are what both texts have at the same places: the name that recurs most and the day, or else quantities.
func (p *pair) conflicts() (out [][2]string) {
	all, said, name, had := p.places(), "", [2]string{}, [3]bool{} // a quantity, a day, a name
	slices.SortStableFunc(all, func(a, b place) int { return cmp.Compare(b.rank, a.rank) })
	for _, c := range all {
		kind, formA := min(c.rank, 2), p.j.Later.Form[c.later.Start:c.later.End]
		if p.spent() {
			break
		}
		if kind > 0 && had[kind] || strings.Contains(said, formA) {
			continue
		}
		a, b := p.sides(c)
		if name[0] != "" && strings.Contains(a, name[0]) && strings.Contains(b, name[1]) &&
			(kind == 0 || strings.ContainsFunc(name[0], unicode.IsDigit)) {
			out, said = nil, "" // the name again, with a quantity
		} else if kind == 0 && (had[1] || had[2]) {
			continue // a quantity of what is not said
		}
		if a != "" && (said == "" || utf8.RuneCountInString(said+a) <= sideMost) && len(out) < placesMost {
			out, said, had[kind] = append(out, [2]string{a, b}), said+a, true
			if name = out[0]; kind == 2 && !strings.ContainsFunc(name[0], unicode.IsDigit) {
				formB := p.j.Earlier.Form[c.earlier.Start:c.earlier.End]
				name = [2]string{p.later.literal(formA, ""), p.earlier.literal(formB, "")}
			}
		}
	}
	s := p.j.Agreement.Subject
	a, b := p.later.literal(s[0], ""), p.earlier.literal(s[1], "")
	if len(out) == 0 && a != "" && b != "" &&
		!strings.Contains(p.earlier.Text, a) && !strings.Contains(p.later.Text, b) {
		return [][2]string{{a, b}}
	}
	return out
}

// sides are the clauses of a place as they were published, if both are short, or else a name or day with what follows
// it, a place with what is before it, or a name or day alone.
func (p *pair) sides(c place) (later, earlier string) {
	l, e := p.j.Later.Doc, p.j.Earlier.Doc
	clauses := [2]compare.Span{l.Clause(c.later.Start), e.Clause(c.earlier.Start)}
	tails := [2]compare.Span{l.Tail(c.later, sideMost), e.Tail(c.earlier, sideMost)}
	phrases := [2]compare.Span{l.Phrase(c.later), e.Phrase(c.earlier)}
	tries := [][2]compare.Span{clauses, clauses, tails, phrases, {c.later, c.earlier}}
	if c.rank == 0 {
		tries = [][2]compare.Span{clauses, clauses, phrases}
	} else if tails[0] == c.later {
		tries[2] = phrases
	}
	marks := ends + pauses + "、\n\t" // of the first try
	for _, t := range tries {
		if later, earlier = p.said(t, marks); later != "" {
			break
		}
		marks = ""
	}
	return later, earlier
}

// said is what pieces of both normal forms come from, widened to the next of some marks; empty if it is long, or no
// whole piece, or stands in the other text.
func (p *pair) said(of [2]compare.Span, marks string) (later, earlier string) {
	formX, formY := p.j.Later.Form[of[0].Start:of[0].End], p.j.Earlier.Form[of[1].Start:of[1].End]
	later, earlier = p.later.literal(formX, marks), p.earlier.literal(formY, marks)
	if later == "" || earlier == "" || strings.Contains(p.earlier.Text, later) ||
		strings.Contains(p.earlier.Form, formX) || strings.Contains(p.later.Text, earlier) ||
		strings.Contains(p.later.Form, formY) {
		return "", ""
	}
	return later, earlier
}
