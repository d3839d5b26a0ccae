package compare

import (
	"strings"
	"time"
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

// Disagree is the first quantity of two stretches, of each text, if they say different things of one matter.
func (x *Alignment) Disagree(later, earlier Span) (a, b Span, ok bool) {
	l, e := &x.Later, &x.Earlier
	i, iEnd := l.overlapping(later)
	k, kEnd := e.overlapping(earlier)
	for ; i < iEnd && k < kEnd; i, k = i+1, k+1 {
		v, o := &l.values[i], &e.values[k]
		if v.Comparable(o) && !v.MayBe(o) && !v.Weak && !o.Weak {
			return Span{v.Start, v.End}, Span{o.Start, o.End}, true
		}
	}
	return a, b, false
}

// Name is a stretch in whole words, without the quantities at its ends. known: a name of the dictionary is in it, or
// what the dictionary does not have.
func (d *Doc) Name(s Span) (name Span, known bool) {
	s = d.whole(s)
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
		return Span{}, false
	}
	return s, len(d.names(s)) > 0 || d.unlisted(s)
}

// Touching reports whether two quantities follow one another in a stretch: a headline runs into a sentence there.
func (d *Doc) Touching(s Span) bool {
	i, end := d.overlapping(s)
	for i++; i < end; i++ {
		if d.values[i].Start == d.values[i-1].End {
			return true
		}
	}
	return false
}

// Phrase is a quantity with the words before it, n characters or a word more, from its clause and behind the last
// quantity.
func (d *Doc) Phrase(s Span, n int) Span {
	least := d.Clause(s.Start).Start
	if i, _ := d.overlapping(s); i > 0 {
		least = max(least, d.values[i-1].End)
	}
	for i := s.Start; i > least && n > 0; n-- {
		_, size := utf8.DecodeLastRuneInString(d.Form[:i])
		if i -= size; i == least || d.WordAt(i) {
			s.Start = i
		}
	}
	return s
}

// Fresh are the words of the later text that the earlier one has nowhere, and its facts: names and quantities, without
// the days of publication.
func (j *Judgement) Fresh() (words, facts []Span) {
	d, other := j.Later.Doc, j.Earlier.Doc
	known, sought := map[string]bool{}, 0
	for w, name := range d.words(d.all()) {
		word := d.Form[w.Start:w.End]
		if utf8.RuneCountInString(word) < 2 || isNumber(word) || known[word] {
			continue
		}
		if sought += len(other.Form); sought > 4*j.limits.Sought { // of one pair of an article's
			break
		}
		if known[word] = other.Has(word); known[word] {
			continue
		}
		if words = append(words, w); name {
			facts = append(facts, w)
		}
	}
	for _, i := range j.New.Values {
		v := &d.values[i]
		if v.Kind != quantity.Date && v.Unit != "" || v.Kind == quantity.Date && !on(v, d.Text.Published) &&
			!on(v, other.Text.Published) {
			facts = append(facts, Span{v.Start, v.End})
		}
	}
	return words, facts
}

// Past are the dates of years before that of publication, or the last one that a text names.
func (d *Doc) Past() (out []Span) {
	last := 0
	if d.Text.Published > 0 {
		last = time.Unix(int64(d.Text.Published)*24*60*60, 0).UTC().Year()
	}
	for i := range d.values {
		if v := &d.values[i]; v.Kind == quantity.Date {
			last = max(last, int(v.High)/10000)
		}
	}
	for i := range d.values {
		if v := &d.values[i]; v.Kind == quantity.Date && v.High >= 10000 && int(v.High)/10000 < last {
			out = append(out, Span{v.Start, v.End})
		}
	}
	return out
}
