package sketch

import "strings"

// swapMost bounds the sides of a gap that counts as a swap: other words at the same place.
const swapMost = 60

// gap adds to l what lies between two runs that follow each other in the query, or at an end: q in the query, c
// in the earlier text, of negative length where the runs changed places.
func (w *workspace) gap(l *Layout, q, c span) {
	inQ, inC := int(q.to-q.from), int(c.to-c.from)
	if inQ > 0 || inC > 0 {
		l.Gaps++
	}
	if inQ <= 0 || inC <= 0 || inQ > swapMost || inC > swapMost {
		return
	}
	if n := w.replaced(q, c); n > 0 {
		l.Replaced += n
		l.ReplacedGaps++
	}
	if q.to == int32(len(w.q.tokens)) {
		return // text behind the last run is a rest, not a swap
	}
	if q.from > 0 && max(q.from, c.from) < openingTokens {
		l.Subject = max(l.Subject, w.subject(q, c))
	}
	l.Swaps++
	if w.foreign(q, c) {
		l.Foreign += min(inQ, inC)
		w.rename(l, q, c)
	}
}

// foreignMost bounds the sides of a swap of two names.
const foreignMost = 16

// foreign reports whether both sides of a swap have some length and no pair that the other text has anywhere:
// another name at the same place, not another wording.
func (w *workspace) foreign(q, c span) bool {
	nq, nc := q.to-q.from, c.to-c.from
	if min(nq, nc) < softK || max(nq, nc) > foreignMost {
		return false
	}
	for _, id := range w.q.pairs[q.from : q.to-1] {
		if w.inC[id] > 0 {
			return false
		}
	}
	for _, id := range w.c.pairs[c.from : c.to-1] {
		if id >= 0 {
			return false
		}
	}
	return true
}

// subjectPairs is the least number of unknown pairs on each side of a swap of two subjects: an office and its
// holder, not one word for another.
const subjectPairs = 6

// subject is the share of pairs in a swap that the other text has nowhere, on the side where it is smaller; 0
// where either side has few of them.
func (w *workspace) subject(q, c span) float32 {
	inQ, inC := 0, 0
	for _, id := range w.q.pairs[q.from : q.to-1] {
		if w.inC[id] == 0 {
			inQ++
		}
	}
	for _, id := range w.c.pairs[c.from : c.to-1] {
		if id < 0 {
			inC++
		}
	}
	if min(inQ, inC) < subjectPairs {
		return 0
	}
	return min(float32(inQ)/float32(q.to-q.from-1), float32(inC)/float32(c.to-c.from-1))
}

// replaced counts the replaced figures of a swap whose sides are the same words with other figures. A figure
// that is only written differently does not count.
func (w *workspace) replaced(q, c span) int {
	if q.to-q.from != c.to-c.from {
		return 0
	}
	n := 0
	for i := range q.to - q.from {
		a, b := &w.q.tokens[q.from+i], &w.c.tokens[c.from+i]
		switch {
		case a.hash == b.hash:
		case !a.kind.isNumber() || !b.kind.isNumber():
			return 0
		case !sameDigits(w.q.text[a.start:a.end], w.c.text[b.start:b.end]):
			n++
		}
	}
	return n
}

// sameDigits reports whether two figures have the same digits: one of them has lost a point, a percent sign or a
// power of ten, or the number of a list item has run into the figure behind it (1.7月).
func sameDigits(a, b string) bool {
	if strings.HasSuffix(a, "."+b) || strings.HasSuffix(b, "."+a) {
		return true
	}
	i, j, n := 0, 0, 0
	for {
		for i < len(a) && !isDigit(a[i]) {
			i++
		}
		for j < len(b) && !isDigit(b[j]) {
			j++
		}
		if i == len(a) || j == len(b) {
			return i == len(a) && j == len(b) && n > 0
		}
		if a[i] != b[j] {
			return false
		}
		i, j, n = i+1, j+1, n+1
	}
}

// nameTokens is the least length of a certain name. Shorter words may be two words for one thing, which an
// editor changes at every place too.
const nameTokens = 3

// rename counts a swap of foreign words that have no token in common and no figure in them.
func (w *workspace) rename(l *Layout, q, c span) {
	h := uint64(0)
	for _, a := range w.q.tokens[q.from:q.to] {
		if a.kind.isNumber() || hasToken(w.c.tokens[c.from:c.to], a.hash) {
			return
		}
		h = h*base + a.hash
	}
	h = mix(h)
	for _, b := range w.c.tokens[c.from:c.to] {
		if b.kind.isNumber() {
			return
		}
		h = h*base + b.hash
	}
	for i := range w.renames {
		r := &w.renames[i]
		if r.pair != h {
			continue
		}
		r.times++
		if r.name {
			l.Renamed = max(l.Renamed, r.times)
		} else if r.opening {
			l.Retitled = max(l.Retitled, r.times)
		}
		return
	}
	w.renames = append(w.renames, renaming{
		pair: h, times: 1,
		name:    min(q.to-q.from, c.to-c.from) >= nameTokens,
		opening: max(q.from, c.from) < openingTokens,
	})
}
