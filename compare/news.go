package compare

import "jianguo/compare/quantity"

// News is what one text has that the other one lacks.
type News struct {
	Characters int     // of its own clauses
	Share      float32 // of all its characters
	Clauses    []Span  // of Form, in order
	Values     []int   // its quantities that the other text has nowhere, one of each, by their number in the Doc
}

// Bounds of what counts as a text's own, in tokens.
const (
	passage = 8 // of the shortest passage
	ending  = 6 // of the shortest run in common that ends one
)

// news is what a side has that the other lacks. A passage of its own lies between two runs in common, with less than
// a third in common; of it those clauses count that the other text has not got in other words either.
func (s *Side) news(other *Doc) News {
	var n News
	var known []bool // by token, whether the other text has the pair that begins there
	for i := 0; i < len(s.run); {
		length, common := 0, 0
		for ; i+length < len(s.run) && s.run[i+length] < ending; length++ {
			common += int(min(s.run[i+length], 1))
		}
		if length >= passage && 3*common < length {
			if known == nil {
				known = other.knows(s.Doc)
			}
			s.ownClauses(&n, known, i, i+length)
		}
		i += length + 1
	}
	if n.Characters > 0 {
		n.Share = float32(n.Characters) / float32(s.characters(0, len(s.tokens)))
	}
	n.Values = s.newValues()
	return n
}

// ownClauses adds the clauses of a passage more than a third of whose pairs the other text has nowhere.
func (d *Doc) ownClauses(n *News, known []bool, from, to int) {
	for from < to {
		end := from + 1
		for end < to && !d.begins(end) {
			end++
		}
		unknown := 0
		for _, known := range known[from:end] {
			if !known {
				unknown++
			}
		}
		if 3*unknown > end-from {
			n.Characters += d.characters(from, end)
			n.Clauses = append(n.Clauses, d.span(from, end))
		}
		from = end
	}
}

// newValues are the quantities that the other text has nowhere, one of each.
func (s *Side) newValues() (out []int) {
	for i, said := range s.said {
		v := &s.values[i]
		if v.Weak || said {
			continue
		}
		again := false
		for _, k := range out {
			again = again || s.values[k].Equal(&v.Value)
		}
		if !again {
			out = append(out, i)
		}
	}
	return out
}

// saysOf is, by quantity of another text, whether a text says it.
func (d *Doc) saysOf(other *Doc) []bool {
	said := make([]bool, len(other.values))
	for i := range said {
		said[i] = d.says(&other.values[i].Value)
	}
	return said
}

// says reports whether a text has a quantity, in its body or its headline, or one that may be the same.
func (d *Doc) says(v *quantity.Value) bool {
	for i := range d.values {
		if v.MayBe(&d.values[i].Value) && !v.Finer(&d.values[i].Value) {
			return true
		}
	}
	for i := range d.titled {
		if v.MayBe(&d.titled[i]) && !v.Finer(&d.titled[i]) {
			return true
		}
	}
	return false
}
