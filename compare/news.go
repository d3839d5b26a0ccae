package compare

import (
	"slices"
	"unicode/utf8"

	"jianguo/compare/quantity"
)

// News is what one text has that the other one lacks.
type News struct {
	Characters int               // of its own clauses
	Share      float32           // of all its characters
	Values     []*quantity.Value // its quantities that the other text has nowhere, one of each
}

// ownLeast is how many tokens a clause has at least that is a text's own: less is a word, 据悉.
const ownLeast = 3

// clauseMost is the most tokens that count as one clause: a text may have no punctuation.
const clauseMost = 40

// news is what a side has that the other lacks. A clause counts of which more than two thirds are in no run in
// common: where less is, it says the same in other words. The other text is searched for so many bytes at most.
func (s *Side) news(other *Doc, sought int) (n News) {
	for from, end := 0, 0; from < len(s.tokens); from = end {
		own := 0
		for end = from; end == from || end < min(len(s.tokens), from+clauseMost) && !s.begins(end); end++ {
			if s.run[end] == 0 {
				own++
			}
		}
		if own < ownLeast || 3*own <= 2*(end-from) {
			continue
		}
		if sought -= len(other.Form); sought < 0 || !other.Has(s.text(s.span(from, end))) {
			n.Characters += s.characters(from, end)
		}
	}
	if n.Characters > 0 {
		n.Share = float32(n.Characters) / float32(s.characters(0, len(s.tokens)))
	}
	for i, said := range s.said {
		v := &s.values[i]
		if !v.Weak && !said && !slices.ContainsFunc(n.Values, v.Equal) {
			n.Values = append(n.Values, v)
		}
	}
	return n
}

// characters is the number of characters of some tokens, separators apart.
func (d *Doc) characters(from, to int) (n int) {
	for _, t := range d.tokens[from:to] {
		n += utf8.RuneCountInString(d.Form[t.start:t.end])
	}
	return n
}

// saidOf is, by quantity of another text, whether a text has it, or one that may be the same.
func (d *Doc) saidOf(other *Doc) []bool {
	said := make([]bool, len(other.values))
	for i := range said {
		v := &other.values[i]
		for k := 0; k < len(d.values) && !said[i]; k++ {
			said[i] = v.MayBe(&d.values[k]) && !v.Finer(&d.values[k])
		}
	}
	return said
}
