package sketch

import (
	"slices"
	"strings"
)

const (
	headTokens    = 24 // tokens of a text without a headline that serve as one
	openingTokens = 60 // tokens of it that say what the text is about
	headMost      = 64 // tokens of a headline; a longer one is a body in the wrong field
	wordBytes     = 3  // least length of a Latin word that may be a name
	identifier    = 8  // least length of a Latin word that is a topic although it stands only once
)

// heads fills HeadA, HeadB and Topics.
func (w *workspace) heads(r *Comparison) {
	q, c := w.q.opening(headTokens), w.c.opening(headTokens)
	r.Layout.HeadA, r.Layout.HeadB = known(q, c, w.pairInC), known(c, q, w.pairInQ)

	t := &r.Layout.Topics
	t.Titled = len(w.q.head) >= softK && len(w.c.head) >= softK
	apart := lacking(w.q.words, w.c.words, 1) > 0 && lacking(w.c.words, w.q.words, 1) > 0
	labelA, alone := w.q.label(&w.c, apart)
	labelB, alone2 := w.c.label(&w.q, apart)
	t.Labels = labelA && labelB && (alone || alone2)
	t.A = w.q.topics(&w.c, func(h uint64) (own, other int32) { return w.pairIn(h) })
	t.B = w.c.topics(&w.q, func(h uint64) (own, other int32) { other, own = w.pairIn(h); return own, other })
	t.WordsA, t.WordsB = lacking(w.q.known, w.c.known, 1), lacking(w.c.known, w.q.known, 1)
}

// opening is the headline, or the first n tokens of a text without one.
func (s *side) opening(n int) []token {
	if len(s.head) >= softK {
		return s.head
	}
	return s.tokens[:min(n, len(s.tokens))]
}

// inside is how often the tokens of a text contain its opening: once where it is part of them.
func (s *side) inside() int32 {
	if len(s.head) >= softK && !s.in.headed() {
		return 0
	}
	return 1
}

// known is the share of the pairs of a headline that the other text has, in its body or its headline; 1 for none.
func known(head, other []token, inBody func(h uint64) bool) float32 {
	found := 0
	for i := range len(head) - 1 {
		if inBody(pairHash(head[i:])) || hasPair(other, head[i:]) {
			found++
		}
	}
	if len(head) < 2 {
		return 1
	}
	return float32(found) / float32(len(head)-1)
}

// topics counts the words and pairs of the opening that s has again below it, and the other text neither in its
// body nor in its opening.
func (s *side) topics(o *side, in func(h uint64) (own, other int32)) (n int) {
	head, other, inside := s.opening(openingTokens), o.opening(openingTokens), s.inside()
	for i, t := range head {
		if t.names() {
			said := t.end-t.start >= identifier || countOf(s.words, t.hash) > int(inside)
			if said && countOf(o.words, t.hash) == 0 && !hasToken(other, t.hash) {
				n++
			}
			continue
		}
		if i+1 == len(head) || head[i+1].clause || head[i+1].kind == word || t.kind.isNumber() && head[i+1].kind.isNumber() {
			continue
		}
		if own, there := in(pairHash(head[i:])); own > inside && there == 0 && !hasPair(other, head[i:]) {
			n++
		}
	}
	return n
}

// label reports whether the headline has a Latin word that the other headline lacks, and whether one of these
// words is alone: nowhere in the other text. Unless the bodies are apart (each has a Latin word that the other
// lacks), the body of s must have the word too.
func (s *side) label(other *side, apart bool) (has, alone bool) {
	for _, t := range s.head {
		if !t.names() || hasToken(other.head, t.hash) {
			continue
		}
		has = true
		alone = alone || countOf(other.words, t.hash) == 0 && (apart || countOf(s.words, t.hash) > 0)
	}
	return has, alone
}

// names reports whether a token is a Latin word that may be a name.
func (t *token) names() bool { return t.kind == word && t.end-t.start >= wordBytes }

func hasToken(tokens []token, hash uint64) bool {
	return slices.ContainsFunc(tokens, func(t token) bool { return t.hash == hash })
}

func hasPair(tokens, pair []token) bool {
	for j := range len(tokens) - 1 {
		if tokens[j].hash == pair[0].hash && tokens[j+1].hash == pair[1].hash {
			return true
		}
	}
	return false
}

// appendWords adds the hashes of the Latin words, mostly products and codes, to a sorted list.
func appendWords(dst []uint64, tokens []token) []uint64 {
	for _, t := range tokens {
		if t.names() {
			dst = append(dst, t.hash)
		}
	}
	slices.Sort(dst)
	return dst
}

// countOf is how often a sorted list has v.
func countOf(sorted []uint64, v uint64) int {
	i, ok := slices.BinarySearch(sorted, v)
	n := 0
	for ok && i+n < len(sorted) && sorted[i+n] == v {
		n++
	}
	return n
}

// lacking counts the distinct words that a sorted list has at least so many times, and another one not at all.
func lacking(words, other []uint64, least int) (n int) {
	for i := 0; i < len(words); {
		times := countOf(words[i:], words[i])
		if times >= least && countOf(other, words[i]) == 0 {
			n++
		}
		i += times
	}
	return n
}

// teaserMost is the length in bytes of the longest body that may say nothing of its article: 200 Han characters.
const teaserMost = 600

// Shares of the pairs of characters of a headline: one that has fewer in the body is not told there, and two
// that have fewer in common are of two articles.
const (
	toldLeast = .25
	sameTitle = .5
)

// Untold reports whether a short body says nothing of its headline, which is another than that of an earlier
// article with the same body: a feed that gives the same introduction to every article. title and earlier are
// the headlines as they were published.
func Untold(in *Input, title, earlier string) bool {
	return len(in.Body) > 0 && len(in.Body) <= teaserMost && title != "" && earlier != "" && title != earlier &&
		pairShare(in.Title, in.Body) < toldLeast && pairShare(title, earlier) < sameTitle
}

// pairShare is the share of the pairs of characters of a text that another one has.
func pairShare(text, other string) float64 {
	runes, there := []rune(text), 0
	for i := range len(runes) - 1 {
		if strings.Contains(other, string(runes[i:i+2])) {
			there++
		}
	}
	return float64(there) / float64(max(len(runes)-1, 1))
}
