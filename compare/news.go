package compare

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
func (s *Side) news(other *Side) News {
	var n News
	for i := 0; i < len(s.run); {
		length, common := 0, 0
		for ; i+length < len(s.run) && s.run[i+length] < ending; length++ {
			common += int(min(s.run[i+length], 1))
		}
		if length >= passage && 3*common < length {
			s.ownClauses(&n, i, i+length)
		}
		i += length + 1
	}
	if all := s.characters(0, len(s.tokens)); all > 0 {
		n.Share = float32(n.Characters) / float32(all)
	}
	n.Values = s.newValues(other)
	return n
}

// ownClauses adds the clauses of a passage more than a third of whose pairs the other text has nowhere.
func (s *Side) ownClauses(n *News, from, to int) {
	for from < to {
		end := from + 1
		for end < to && !s.begins(end) {
			end++
		}
		unknown := 0
		for _, known := range s.known[from:end] {
			if !known {
				unknown++
			}
		}
		if 3*unknown > end-from {
			n.Characters += s.characters(from, end)
			n.Clauses = append(n.Clauses, Span{int(s.tokens[from].start), int(s.tokens[end-1].end)})
		}
		from = end
	}
}

// newValues are the quantities that the other text has nowhere, one of each.
func (s *Side) newValues(other *Side) (out []int) {
	for i := range s.values {
		v := &s.values[i]
		if v.Weak || other.says(v) {
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

// says reports whether a text has a quantity, in its body or its headline, or one that may be the same.
func (s *Side) says(v *value) bool {
	for i := range s.values {
		if v.MayBe(&s.values[i].Value) && !v.Finer(&s.values[i].Value) {
			return true
		}
	}
	for i := range s.titled {
		if v.MayBe(&s.titled[i]) && !v.Finer(&s.titled[i]) {
			return true
		}
	}
	return false
}
