package compare

import (
	"slices"

	"jianguo/compare/quantity"
)

// News is what one text has that the other one lacks.
type News struct {
	Characters int               // of its own clauses
	Share      float32           // of all its characters
	Values     []*quantity.Value // its quantities that the other text has nowhere, one of each
}

// Bounds of what counts as a text's own, in tokens.
const (
	passage = 8 // of the shortest passage
	ending  = 6 // of the shortest run in common that ends one
)

// news is what a side has that the other lacks. A passage of its own lies between two runs in common, with less than
// a third in common; of it those clauses count that the other text has not got in other words either.
func (s *Side) news(other *Doc, l *Limits) News {
	var n News
	var known []bool // by token, whether the other text has the pair that begins there
	for i, end := 0, 0; i < len(s.run); i = end + 1 {
		common := 0
		for end = i; end < len(s.run) && s.run[end] < ending; end++ {
			common += int(min(s.run[end], 1))
		}
		if (end-i >= passage || l.Off == "passages") && 3*common < end-i {
			if known == nil && l.Off == "rewording" {
				known = make([]bool, len(s.run))
			} else if known == nil {
				known = other.knows(s.Doc)
			}
			n.Characters += s.ownClauses(known, i, end, l)
		}
	}
	if n.Characters > 0 {
		n.Share = float32(n.Characters) / float32(s.characters(0, len(s.tokens)))
	}
	n.Values = s.newValues()
	return n
}

// ownClauses is the number of characters of the clauses of a passage more than a third of whose pairs the other text
// has nowhere, and that are more than a word, or a name.
func (d *Doc) ownClauses(known []bool, from, to int, l *Limits) (characters int) {
	for from < to {
		end, unknown := from+1, 0
		for end < to && !d.begins(end) {
			end++
		}
		for _, known := range known[from:end] {
			if !known {
				unknown++
			}
		}
		if s := d.span(from, end); 3*unknown > end-from && (l.Off == "words" || !d.plainWord(s)) {
			characters += d.characters(from, end)
		}
		from = end
	}
	return characters
}

// plainWord reports whether a stretch is one word of the dictionary and no name: 同时, 据悉.
func (d *Doc) plainWord(s Span) bool {
	for w, name := range d.words(s) {
		if name || w.End < s.End {
			return false
		}
	}
	return len(d.Text.Words) > 0
}

// newValues are the quantities that the other text has nowhere, one of each.
func (s *Side) newValues() (out []*quantity.Value) {
	for i, said := range s.said {
		v := &s.values[i]
		if !v.Weak && !said && !slices.ContainsFunc(out, v.Equal) {
			out = append(out, v)
		}
	}
	return out
}

// saysOf is, by quantity of another text, whether a text has it, or one that may be the same.
func (d *Doc) saysOf(other *Doc) []bool {
	said := make([]bool, len(other.values))
	for i := range said {
		v := &other.values[i]
		for k := 0; k < len(d.values) && !said[i]; k++ {
			said[i] = v.MayBe(&d.values[k]) && !v.Finer(&d.values[k])
		}
	}
	return said
}
