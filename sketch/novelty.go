package sketch

import "strings"

// novel finds the clauses of which less than a third of the pairs, given by their numbers, are known to the
// other text, and counts their tokens.
func (w *workspace) novel(s *side, known func(pair int32) bool) int {
	tokens, pairs, total := s.tokens, s.pairs, 0
	s.novel = s.novel[:0]
	if w.kPairs < softK {
		known = func(int32) bool { return false } // these are no pairs
	}
	for i := 0; i < len(tokens); {
		n, has := 1, 0
		for ; i+n < len(tokens) && !tokens[i+n].clause; n++ {
			if known(pairs[i+n-1]) {
				has++
			}
		}
		if n > 1 && 3*has < n-1 && !credit(s.text[tokens[i].start:tokens[i+n-1].end]) {
			total += n
			s.novel = append(s.novel, span{int32(i), int32(i + n)})
		}
		i += n
	}
	return total
}

// novelBlock is the size of the longest stretch of novel clauses.
func (s *side) novelBlock() int {
	most, from := int32(0), int32(0)
	for i, x := range s.novel {
		if i == 0 || s.novel[i-1].to != x.from {
			from = x.from
		}
		most = max(most, x.to-from)
	}
	return int(most)
}

// novelWithin counts the tokens of novel clauses between two offsets.
func (s *side) novelWithin(from, to int32) int {
	n := 0
	for _, x := range s.novel {
		n += max(0, int(min(x.to, to)-max(x.from, from)))
	}
	return n
}

// compareNames fills the names of r.Facts. A name that the dictionary found in one text only may still stand in
// the other one, so both texts are searched.
func (w *workspace) compareNames(r *Comparison) {
	count := func(own, other *side, lacking, subjects *int) {
		names := own.names
		for i := 0; i < len(names); {
			n, k := names[i], i+1
			for k < len(names) && names[k] == n {
				k++
			}
			switch {
			case strings.Contains(other.in.Body, n) || strings.Contains(other.in.Title, n):
				r.Facts.Names++
			case k-i > 1 || strings.Contains(own.in.Title, n):
				*subjects++
				fallthrough
			default:
				*lacking++
			}
			i = k
		}
	}
	count(&w.q, &w.c, &r.Facts.NamesA, &r.Facts.SubjectsA)
	count(&w.c, &w.q, &r.Facts.NamesB, &r.Facts.SubjectsB)
	r.Facts.SubjectsA += subjects(w.q.known, w.c.known)
	r.Facts.SubjectsB += subjects(w.c.known, w.q.known)
}
