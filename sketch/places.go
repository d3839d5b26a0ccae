package sketch

import "slices"

// fact is a figure at its place.
type fact struct {
	value uint64
	place uint16 // hash of the words around it
}

// appendFacts appends the figures of a text. A small figure that is a clause by itself is the number of a list
// item, not a fact.
func appendFacts(dst []fact, tokens []token) []fact {
	for i, t := range tokens {
		if !t.kind.isNumber() || isEnumerator(tokens, i) {
			continue
		}
		h := uint64(t.kind)
		for j := max(0, i-3); j < i; j++ {
			h = h*base + placeHash(tokens[j])
		}
		if i+1 < len(tokens) {
			h = h*base + placeHash(tokens[i+1])
		}
		dst = append(dst, fact{value: t.hash, place: uint16(mix(h) >> 48)})
	}
	return dst
}

func isEnumerator(tokens []token, i int) bool {
	t := tokens[i]
	return t.kind == number && t.clause && t.end-t.start <= 2 && (i+1 == len(tokens) || tokens[i+1].clause)
}

// placeHash is equal for all figures of a kind, so a place does not depend on the figures next to it.
func placeHash(t token) uint64 {
	if t.kind.isNumber() {
		return uint64(t.kind) + 1
	}
	return t.hash
}

// distinct appends the distinct figures of facts, sorted.
func distinct(dst []uint64, facts []fact) []uint64 {
	for _, f := range facts {
		dst = append(dst, f.value)
	}
	slices.Sort(dst)
	return slices.Compact(dst)
}
