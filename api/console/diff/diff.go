// Package diff aligns two texts word by word in their original form: what both
// have, what only one has, which passages moved, and which figures conflict.
//
// # Contract
//
// The caller cuts both texts into words (Token): offsets in the original, and a
// key that is equal for words with the same meaning, such as a traditional and a
// simplified form. Whatever lies between words (punctuation, spaces, invisible
// characters) is never a difference. Compare covers each text with Spans:
// together they are the text, byte for byte.
//
// The algorithm is that of Ratcliff and Obershelp (Pattern Matching: the Gestalt
// Approach, 1988): the longest common run first, then the parts before and after
// it. Unlike a shortest edit script it does not scatter matches of 的 and 在 over
// unrelated passages. Runs that remain on both sides afterwards have moved.
//
// # Limits
//
// The work is bounded (Work): two texts of 3,000 characters take a few
// milliseconds. Hostile texts (one word repeated a hundred thousand times) give a
// Partial result: the parts that were not compared count as different.
package diff

import (
	"math"
	"slices"
	"strconv"
	"unicode/utf8"
)

// Token is a word: text[Start:End], byte offsets into the original. Tokens are
// in order and do not overlap.
type Token struct {
	Start, End int
	Key        string
	Figure     bool // a number, a date, a percentage
}

// Kind relates a part of a text to the other text.
type Kind uint8

// The kinds of a Span.
const (
	Same     Kind = iota // in both, in the same place
	Only                 // in this text alone
	Moved                // in both, in another place
	Conflict             // a figure where the other text has another one
)

func (k Kind) String() string { return [...]string{"same", "only", "moved", "conflict"}[k] }

// Span is text[Start:End] of one side.
type Span struct {
	Start, End int
	Kind       Kind
	// Move numbers the moved passages from 1; both sides have the same number.
	Move int
}

// Result is the comparison of two texts.
type Result struct {
	A, B []Span
	// Matches are the runs that did not move, by token.
	Matches []Match
	// SharedA and SharedB are the bytes of words that each text has in common with
	// the other, moved ones included, out of TotalA and TotalB.
	SharedA, SharedB, TotalA, TotalB int
	Moves, Conflicts                 int
	Partial                          bool
}

// Match is a run of N words in both texts: from word A of the first and word B of
// the second.
type Match struct{ A, B, N int }

// Work is how many pairs of words are compared at most.
const Work = 8 << 20

// minMove is the weight, in bytes, of the shortest passage that counts as moved:
// sixteen Chinese characters. Shorter runs, such as the name of an office, may
// occur twice by chance.
const minMove = 48

type state struct {
	a, b   []int32   // interned keys
	weight []int32   // bytes, of the key
	places [][]int32 // where a key occurs in b
	budget int       // of Work, the remainder
	// run and next, touched and touching are longest's.
	run, next         []int32
	touched, touching []int32

	kindA, kindB []Kind
	moveA, moveB []int32
	matches      []Match
}

// Compare compares two texts of the given lengths in bytes, cut into words.
func Compare(lenA, lenB int, a, b []Token) *Result {
	s := intern(a, b)
	s.match(0, len(s.a), 0, len(s.b))
	slices.SortFunc(s.matches, func(x, y Match) int { return x.A - y.A })
	r := &Result{Matches: join(s.matches)}
	r.Moves = s.moves()
	r.Conflicts = s.conflicts(a, b, r.Matches)
	r.A, r.SharedA, r.TotalA = spans(lenA, a, s.kindA, s.moveA)
	r.B, r.SharedB, r.TotalB = spans(lenB, b, s.kindB, s.moveB)
	r.Partial = s.budget < 0
	return r
}

func intern(a, b []Token) *state {
	s := &state{budget: Work, kindA: make([]Kind, len(a)), kindB: make([]Kind, len(b)), moveA: make([]int32, len(a)), moveB: make([]int32, len(b)),
		run: make([]int32, len(b)+1), next: make([]int32, len(b)+1)}
	ids := make(map[string]int32, len(a))
	number := func(tokens []Token) []int32 {
		out := make([]int32, len(tokens))
		for i := range tokens {
			id, ok := ids[tokens[i].Key]
			if !ok {
				id = int32(len(ids))
				ids[tokens[i].Key] = id
				s.weight = append(s.weight, int32(len(tokens[i].Key)))
			}
			out[i] = id
		}
		return out
	}
	s.a, s.b = number(a), number(b)
	s.places = make([][]int32, len(ids))
	for j, id := range s.b {
		s.places[id] = append(s.places[id], int32(j))
	}
	for i := range s.kindA {
		s.kindA[i] = Only
	}
	for j := range s.kindB {
		s.kindB[j] = Only
	}
	return s
}

// match finds what a[a0:a1] and b[b0:b1] have in common. It uses an explicit
// stack, since hostile texts nest deeply.
func (s *state) match(a0, a1, b0, b1 int) {
	type area struct{ a0, a1, b0, b1 int }
	stack := []area{{a0, a1, b0, b1}}
	for len(stack) > 0 {
		r := stack[len(stack)-1]
		stack = stack[:len(stack)-1]
		// Equal ends need no search, and most texts here are copies.
		n := 0
		for r.a0+n < r.a1 && r.b0+n < r.b1 && s.a[r.a0+n] == s.b[r.b0+n] {
			n++
		}
		s.take(r.a0, r.b0, n)
		r.a0, r.b0 = r.a0+n, r.b0+n
		n = 0
		for r.a1-n > r.a0 && r.b1-n > r.b0 && s.a[r.a1-n-1] == s.b[r.b1-n-1] {
			n++
		}
		s.take(r.a1-n, r.b1-n, n)
		r.a1, r.b1 = r.a1-n, r.b1-n
		if r.a0 == r.a1 || r.b0 == r.b1 {
			continue
		}
		i, j, n, weight := s.longest(r.a0, r.a1, r.b0, r.b1)
		if n == 0 || weight < s.least(r.a1-r.a0, r.b1-r.b0) {
			continue
		}
		s.take(i, j, n)
		stack = append(stack, area{r.a0, i, r.b0, j}, area{i + n, r.a1, j + n, r.b1})
	}
}

// least is the weight that a run needs in a gap of so many words: in a short gap
// any word counts, in a long one a single 的 means nothing.
func (s *state) least(a, b int) int32 {
	switch n := max(a, b); {
	case n <= 6:
		return 3
	case n <= 24:
		return 6
	}
	return 12
}

func (s *state) take(i, j, n int) {
	if n == 0 {
		return
	}
	for k := range n {
		s.kindA[i+k], s.kindB[j+k] = Same, Same
	}
	s.matches = append(s.matches, Match{i, j, n})
}

// longest is the heaviest common run of words that are not taken. s.run and
// s.next have, at j+1, the length of the run that ends at a word and b[j]; they
// are zero between calls.
func (s *state) longest(a0, a1, b0, b1 int) (bi, bj, bn int, weight int32) {
	above, here := s.run, s.next
	s.touched, s.touching = s.touched[:0], s.touching[:0]
	for i := a0; i < a1 && s.budget >= 0; i++ {
		if s.kindA[i] == Only {
			places := s.places[s.a[i]]
			from, _ := slices.BinarySearch(places, int32(b0))
			for _, j := range places[from:] {
				if int(j) >= b1 {
					break
				}
				if s.budget--; s.budget < 0 {
					break
				}
				if s.kindB[j] != Only {
					continue
				}
				n := int(above[j]) + 1
				here[j+1] = int32(n)
				s.touching = append(s.touching, j+1)
				if n >= bn {
					if w := s.sum(i-n+1, i+1); w > weight {
						bi, bj, bn, weight = i-n+1, int(j)-n+1, n, w
					}
				}
			}
		}
		for _, t := range s.touched {
			above[t] = 0
		}
		above, here = here, above
		s.touched, s.touching = s.touching, s.touched[:0]
	}
	for _, t := range s.touched {
		above[t] = 0
	}
	return bi, bj, bn, weight
}

func (s *state) sum(from, to int) (w int32) {
	for _, id := range s.a[from:to] {
		w += s.weight[id]
	}
	return w
}

// join merges matches that are adjacent on both sides.
func join(matches []Match) []Match {
	var out []Match
	for _, m := range matches {
		if n := len(out); n > 0 && out[n-1].A+out[n-1].N == m.A && out[n-1].B+out[n-1].N == m.B {
			out[n-1].N += m.N
			continue
		}
		out = append(out, m)
	}
	return out
}

// moves pairs the runs that remain on both sides, heaviest first.
func (s *state) moves() int {
	for n := 1; n <= 64; n++ {
		i, j, length, weight := s.longest(0, len(s.a), 0, len(s.b))
		if weight < minMove {
			return n - 1
		}
		for k := range length {
			s.kindA[i+k], s.kindB[j+k] = Moved, Moved
			s.moveA[i+k], s.moveB[j+k] = int32(n), int32(n)
		}
	}
	return 64
}

// conflictGap is how many words a gap may have at most for its figures to
// conflict; in longer gaps they belong to different sentences.
const conflictGap = 16

// conflicts marks the figures that differ in gaps between the same matches.
func (s *state) conflicts(a, b []Token, matches []Match) (count int) {
	i, j := 0, 0
	gap := func(a1, b1 int) {
		count += s.scales(a[:a1], b[:b1], i, j)
		if a1-i > conflictGap || b1-j > conflictGap {
			return
		}
		figures := func(tokens []Token, kinds []Kind, from, to int) (at []int) {
			for k := from; k < to; k++ {
				if tokens[k].Figure && kinds[k] == Only {
					at = append(at, k)
				}
			}
			return at
		}
		fa, fb := figures(a, s.kindA, i, a1), figures(b, s.kindB, j, b1)
		fa, fb = unequal(a, b, fa, fb)
		if len(fa) == 0 || len(fb) == 0 {
			return
		}
		for _, k := range fa {
			s.kindA[k] = Conflict
		}
		for _, k := range fb {
			s.kindB[k] = Conflict
		}
		count += max(len(fa), len(fb))
	}
	for _, m := range matches {
		gap(m.A, m.B)
		i, j = m.A+m.N, m.B+m.N
	}
	gap(len(a), len(b))
	return count
}

// scales marks 亿 and 万 after an equal figure, if they differ or only one side has
// one; the gap after that figure begins at i and j.
func (s *state) scales(a, b []Token, i, j int) int {
	if i == 0 || j == 0 || !a[i-1].Figure || !b[j-1].Figure || s.kindA[i-1] != Same {
		return 0
	}
	scaleA, restA := scale(a, i)
	scaleB, restB := scale(b, j)
	// 2022万达 against 2022恒大 is not about an amount.
	if scaleA == scaleB || (scaleA == 1 || scaleB == 1) && restA != restB {
		return 0
	}
	if scaleA > 1 {
		s.kindA[i] = Conflict
	}
	if scaleB > 1 {
		s.kindB[j] = Conflict
	}
	return 1
}

// scale is the factor of the word that follows a figure, and the rest of that
// word.
func scale(tokens []Token, k int) (by float64, rest string) {
	if k >= len(tokens) {
		return 1, ""
	}
	key := tokens[k].Key
	if k > 0 && tokens[k].Start > tokens[k-1].End+1 {
		return 1, key
	}
	switch r, n := utf8.DecodeRuneInString(key); r {
	case '万':
		return 1e4, key[n:]
	case '亿':
		return 1e8, key[n:]
	}
	return 1, key
}

// unequal omits figures that write the same amount in another way, such as
// 20000元 and 2万元.
func unequal(a, b []Token, fa, fb []int) (ra, rb []int) {
	rb = fb
	for _, k := range fa {
		v, known := amount(a, k)
		same := slices.IndexFunc(rb, func(m int) bool {
			w, ok := amount(b, m)
			return known && ok && math.Abs(v-w) <= 1e-9*v
		})
		if same < 0 {
			ra = append(ra, k)
		} else {
			rb = slices.Delete(slices.Clone(rb), same, same+1)
		}
	}
	return ra, rb
}

// amount is the value of a figure with the 万 or 亿 that follows it.
func amount(tokens []Token, k int) (float64, bool) {
	v, err := strconv.ParseFloat(tokens[k].Key, 64)
	if err != nil {
		return 0, false
	}
	by, _ := scale(tokens, k+1)
	return v * by, true
}

// spans covers a text with spans. The characters between two words have the kind
// of both if it is the same, else they count as equal.
func spans(length int, tokens []Token, kinds []Kind, moves []int32) (out []Span, shared, total int) {
	add := func(end int, k Kind, move int) {
		start := 0
		if n := len(out); n > 0 {
			start = out[n-1].End
			if out[n-1].Kind == k && out[n-1].Move == move && k != Conflict {
				out[n-1].End = end
				return
			}
		}
		if end > start {
			out = append(out, Span{start, end, k, move})
		}
	}
	for i, t := range tokens {
		if i > 0 && kinds[i-1] == kinds[i] && moves[i-1] == moves[i] && kinds[i] != Conflict {
			add(t.Start, kinds[i], int(moves[i]))
		} else {
			add(t.Start, Same, 0)
		}
		add(t.End, kinds[i], int(moves[i]))
		total += t.End - t.Start
		if kinds[i] == Same || kinds[i] == Moved {
			shared += t.End - t.Start
		}
	}
	add(length, Same, 0)
	return out, shared, total
}
