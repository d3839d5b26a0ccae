package compare

import (
	"strings"
	"unicode/utf8"

	"jianguo/compare/quantity"
)

// Pieces are the parts of a stretch, by clause.
func (d *Doc) Pieces(s Span) (out []Span) {
	for start := s.Start; start < s.End; {
		end := min(d.Clause(start).End, s.End)
		out = append(out, Span{start, end})
		start = end + 1
	}
	return out
}

// Disagree is the first quantity of two stretches, of each text, if they say different things of one matter, and
// whether it is the day on which each text was published.
func (x *Alignment) Disagree(later, earlier Span) (a, b Span, date, ok bool) {
	l, e := &x.Later, &x.Earlier
	i, iEnd := l.overlapping(later)
	k, kEnd := e.overlapping(earlier)
	for ; i < iEnd && k < kEnd; i, k = i+1, k+1 {
		v, o := &l.values[i], &e.values[k]
		if v.Comparable(o) && !v.MayBe(o) && !v.Weak && !o.Weak {
			return Span{v.Start, v.End}, Span{o.Start, o.End}, x.ownDays(v, o), true
		}
	}
	return a, b, false, false
}

// Name is a stretch in whole words, without the quantities at its ends; empty if it goes over clauses.
func (d *Doc) Name(s Span) Span {
	s = d.wholeWords(s)
	for i, end := d.overlapping(s); i < end; i++ {
		if v := &d.values[i]; v.Start <= s.Start {
			s.Start = min(v.End, s.End)
		} else {
			s.End = min(v.Start, s.End)
		}
	}
	form := d.Form[s.Start:s.End]
	s.End = s.Start + len(strings.TrimRight(form, "\n "))
	s.Start += len(form) - len(strings.TrimLeft(form, "\n "))
	if s.Start >= s.End || strings.Contains(d.Form[s.Start:s.End], "\n") {
		return Span{}
	}
	return s
}

// Phrase is a quantity with all words before it, from its clause and behind the last quantity.
func (d *Doc) Phrase(s Span) Span {
	start := d.Clause(s.Start).Start
	if i, _ := d.overlapping(s); i > 0 {
		start = max(start, d.values[i-1].End)
	}
	return Span{start, s.End}
}

// Tail is a name with what follows it in its clause, up to a quantity or a number of characters: it may be longer than
// what differs.
func (d *Doc) Tail(s Span, most int) Span {
	for w := range d.words(Span{s.End, d.Clause(s.Start).End}) {
		i, end := d.overlapping(w)
		if i < end {
			w.End = max(w.End, d.values[i].End)
		}
		if utf8.RuneCountInString(d.Form[s.Start:w.End]) > most {
			break
		}
		if s.End = w.End; i < end && isNumber(d.Form[w.Start:]) {
			break
		}
	}
	return s
}

// Words are the words of the later text that the earlier one has, those that it has nowhere, the names among these, and
// the quantities that it has nowhere, without the days of publication.
func (j *Judgement) Words() (shared, fresh, names, figures []Span) {
	d, other := j.Later.Doc, j.Earlier.Doc
	known, sought := map[string]bool{}, 0
	for w, name := range d.words(Span{End: len(d.Form)}) {
		word := d.text(w)
		if utf8.RuneCountInString(word) < 2 || isNumber(word) {
			continue
		}
		if _, ok := known[word]; !ok {
			if sought += len(other.Form); sought > 4*j.limits.Sought { // of one pair of an article's
				break
			}
			known[word] = other.Has(word)
		}
		if known[word] {
			shared = append(shared, w)
		} else if fresh = append(fresh, w); name {
			names = append(names, w)
		}
	}
	for _, v := range j.New.Values {
		if v.Kind != quantity.Date && v.Unit != "" || v.Kind == quantity.Date && int(v.Low)%10000 > 0 &&
			!on(v, d.Text.Published) && !on(v, other.Text.Published) {
			figures = append(figures, Span{v.Start, v.End})
		}
	}
	return shared, fresh, names, figures
}
