package sketch

import (
	"cmp"
	"slices"
)

// Alignment says what two texts have in common, passage by passage. All that is said of a pair comes from it:
// the shares and facts of an event, its sentence, and the differences on an editor's screen.
//
// Tokens are the units of the normal form. Matches are runs of equal tokens: those in the same order in both
// texts, found so that they cover most, and moved ones of at least movedLeast tokens. The work is bounded: a
// run is sought at chainMost offsets, and gaps are searched again up to gapWork pairs of tokens.
type Alignment struct {
	Comparison
	Later, Earlier Aligned
	Matches        []Match    // in the order of the later text
	Pairs          []FactPair // of facts
	// Partial reports that gaps were not searched to the end, so that something equal may count as different.
	Partial bool
}

// Aligned is one of the two texts.
type Aligned struct {
	Text      string  // its normal form
	Title     string  // that of its headline
	Tokens    []Bytes // of Text
	Sentences []int   // the offsets in Text where sentences begin; none if unknown
	Covered   float32 // share of the tokens, without those of Head and of credits, that are in a run in common
	Head      int     // tokens of a headline that stands before a text without one, and that the other text lacks
	Common    []uint8 // by token, the length of the longest such run, at most 255; 0 for none
	Known     []bool  // by token, whether the other text has the pair that begins there anywhere
	// OwnTokens are those of own: clauses that the other text has not got, in other words neither, without credits.
	OwnTokens int
	own       [][]token
}

// Bytes is Text[Start:End].
type Bytes struct{ Start, End int }

// Match is a run of N tokens that is in both texts, from token Later and from token Earlier on.
type Match struct {
	Later, Earlier, N int
	Moved             bool // it stands in another place among the other matches
}

// movedLeast is the length of the shortest moved match. Shorter ones, such as the name of an office, may occur
// twice by chance.
const movedLeast = 12

// againLeast is that of what a text says again, such as its headline.
const againLeast = 8

// Bounds of searching the gaps between matches: of one gap and of all, in pairs of tokens.
const (
	gapPairs = 1 << 18
	gapWork  = 1 << 22
)

// Align aligns two texts; a is the later one.
func Align(a, b Input) *Alignment {
	q := NewQuery(a)
	defer q.Close()
	return q.Align(b)
}

// Align aligns the query with an earlier text.
func (q Query) Align(b Input) *Alignment {
	x := &Alignment{Comparison: q.w.overlaps(&b)}
	x.align(q.w)
	return x
}

// align does what overlaps has left to do.
func (x *Alignment) align(w *workspace) {
	x.Later.Text, x.Earlier.Text, x.Later.Title, x.Earlier.Title = w.q.text, w.c.text, w.q.in.Title, w.c.in.Title
	w.runs = w.runs[:0]
	if x.TokensA > 0 && x.TokensB > 0 {
		if !w.digested {
			w.q.digest()
			w.digested = true
		}
		w.c.digest()
		w.softA, w.softB = w.sharedPairs()
		w.align(min(shingleK, x.TokensA, x.TokensB))
	}
	g := gaps{w: w, budget: gapWork}
	g.fill(w.inOrder())
	x.Partial = g.budget < 0
	x.Matches = append(g.out, w.moved(g.out)...)
	slices.SortFunc(x.Matches, func(a, b Match) int { return cmp.Compare(a.Later, b.Later) })
	said := slices.Clip(x.Matches)
	for _, r := range w.runs {
		if r.n >= againLeast { // what the text says again is in no match
			said = append(said, Match{Later: int(r.q), N: int(r.n)})
		}
	}
	both := x.TokensA > 0 && x.TokensB > 0
	x.Later.set(&w.q, func(i int) bool {
		return both && (w.inC[w.q.pairs[i]] > 0 || i+1 < len(w.q.tokens) && hasPair(w.c.head, w.q.tokens[i:]))
	}, said, func(m Match) int { return m.Later })
	x.Earlier.set(&w.c, func(i int) bool { return both && w.c.pairs[i] >= 0 }, append(w.again(), x.Matches...), func(m Match) int { return m.Earlier })
	if both {
		x.pairFacts(w)
		x.measure(w)
	}
}

// again are the runs of the earlier text that the query has too, of which a passage that is said twice is in no match.
func (w *workspace) again() (said []Match) {
	for i := 0; i < len(w.chain); i++ {
		from := i
		for i < len(w.chain) && w.chain[i] != unknown {
			i++
		}
		if n := i - from + w.k - 1; i > from && n >= againLeast {
			said = append(said, Match{Earlier: from, N: n})
		}
	}
	return said
}

// eachGap calls f for what lies between the matches that did not move.
func (x *Alignment) eachGap(w *workspace, f func(a, b span)) {
	a, b := 0, 0
	next := func(m Match) {
		if m.Later > a || m.Earlier > b {
			f(span{int32(a), int32(m.Later)}, span{int32(b), int32(m.Earlier)})
		}
		a, b = m.Later+m.N, m.Earlier+m.N
	}
	for _, m := range x.Matches {
		if !m.Moved {
			next(m)
		}
	}
	next(Match{Later: len(w.q.tokens), Earlier: len(w.c.tokens)})
}

// inOrder chooses, of the runs that stand in the same order in both texts, those that cover most: the heaviest
// increasing subsequence, with the best chain that ends before an offset in a Fenwick tree.
func (w *workspace) inOrder() (chain []run) {
	type link struct{ weight, last int32 }
	tree := make([]link, len(w.c.tokens)+1)
	before := make([]int32, len(w.runs))
	best := link{last: -1}
	for i, x := range w.runs {
		top := link{last: -1}
		for at := x.c; at > 0; at -= at & -at {
			if tree[at].weight > top.weight {
				top = tree[at]
			}
		}
		before[i] = top.last
		here := link{top.weight + x.n, int32(i)}
		for at := x.c + x.n; at < int32(len(tree)); at += at & -at {
			if here.weight > tree[at].weight {
				tree[at] = here
			}
		}
		if here.weight > best.weight {
			best = here
		}
	}
	for i := best.last; i >= 0; i = before[i] {
		chain = append(chain, w.runs[i])
	}
	slices.Reverse(chain)
	return chain
}

// gaps searches what lies between runs for shorter ones.
type gaps struct {
	w      *workspace
	out    []Match
	budget int
	row    []int32
}

func (g *gaps) fill(chain []run) {
	a, b := 0, 0
	for _, x := range chain {
		g.search(a, int(x.q), b, int(x.c))
		g.add(int(x.q), int(x.c), int(x.n))
		a, b = int(x.q+x.n), int(x.c+x.n)
	}
	g.search(a, len(g.w.q.tokens), b, len(g.w.c.tokens))
}

// add appends a match behind the last one, or lengthens that.
func (g *gaps) add(a, b, n int) {
	if n == 0 {
		return
	}
	if k := len(g.out) - 1; k >= 0 && g.out[k].Later+g.out[k].N == a && g.out[k].Earlier+g.out[k].N == b {
		g.out[k].N += n
		return
	}
	g.out = append(g.out, Match{Later: a, Earlier: b, N: n})
}

// search adds what two gaps have in common: equal ends, and the longest run between them, where the gaps are
// searched again (Ratcliff & Obershelp 1988).
func (g *gaps) search(a0, a1, b0, b1 int) {
	q, c := g.w.q.tokens, g.w.c.tokens
	n := int(commonPrefix(q[a0:a1], c[b0:b1]))
	g.add(a0, b0, n)
	a0, b0 = a0+n, b0+n
	n = 0
	for a1-n > a0 && b1-n > b0 && q[a1-n-1].hash == c[b1-n-1].hash {
		n++
	}
	a1, b1 = a1-n, b1-n
	if work := (a1 - a0) * (b1 - b0); work > 0 {
		if work > gapPairs {
			g.budget = min(g.budget, g.budget-work)
		} else if g.budget -= work; g.budget >= 0 {
			if i, j, k := g.longest(a0, a1, b0, b1); k >= leastRun(max(a1-a0, b1-b0)) {
				g.search(a0, i, b0, j)
				g.add(i, j, k)
				g.search(i+k, a1, j+k, b1)
			}
		}
	}
	g.add(a1, b1, n)
}

// leastRun is the length that a run needs in a gap of so many tokens: in a short gap any token counts, in a
// long one a single 的 means nothing.
func leastRun(gap int) int {
	switch {
	case gap <= 6:
		return 1
	case gap <= 24:
		return 2
	}
	return shingleK
}

// longest is the longest common run of two gaps, the first of several.
func (g *gaps) longest(a0, a1, b0, b1 int) (i, j, n int) {
	q, c := g.w.q.tokens, g.w.c.tokens
	g.row = fill(g.row, b1-b0+1, 0)
	for a := a0; a < a1; a++ {
		for b := b1 - 1; b >= b0; b-- {
			if q[a].hash != c[b].hash {
				g.row[b-b0+1] = 0
				continue
			}
			k := g.row[b-b0] + 1
			g.row[b-b0+1] = k
			if int(k) > n {
				i, j, n = a-int(k)+1, b-int(k)+1, int(k)
			}
		}
	}
	return i, j, n
}

// moved finds the runs whose tokens are in no match.
func (w *workspace) moved(matches []Match) (out []Match) {
	usedA, usedB := make([]bool, len(w.q.tokens)), make([]bool, len(w.c.tokens))
	use := func(m Match) {
		for k := range m.N {
			usedA[m.Later+k], usedB[m.Earlier+k] = true, true
		}
	}
	for _, m := range matches {
		use(m)
	}
	for _, x := range w.runs {
		for k := 0; k < int(x.n); k++ {
			m := Match{Later: int(x.q) + k, Earlier: int(x.c) + k, Moved: true}
			for k+m.N < int(x.n) && !usedA[m.Later+m.N] && !usedB[m.Earlier+m.N] {
				m.N++
			}
			if m.N >= movedLeast {
				use(m)
				out = append(out, m)
			}
			k += m.N
		}
	}
	return out
}

// headlineMost is the length in tokens of the longest headline that stands in a text.
const headlineMost = 40

// newsTokens is the length of the shortest clause without a figure that says something: 据悉, 与此同时 do not.
const newsTokens = 5

// set describes one side; known reports whether the other side has the pair of a token.
func (x *Aligned) set(s *side, known func(token int) bool, matches []Match, from func(Match) int) {
	x.Tokens = make([]Bytes, len(s.tokens))
	for i, t := range s.tokens {
		x.Tokens[i] = Bytes{int(t.start), int(t.end)}
	}
	if len(s.tokens) == 0 {
		return
	}
	for _, at := range s.in.Sentences {
		x.Sentences = append(x.Sentences, len(s.text)-len(s.in.Body)+int(at))
	}
	x.Common, x.Known = make([]uint8, len(s.tokens)), make([]bool, len(s.tokens))
	for i := range min(len(s.pairs), len(s.tokens)) {
		x.Known[i] = known(i)
	}
	for _, m := range matches {
		for k := range m.N {
			x.Common[from(m)+k] = max(x.Common[from(m)+k], uint8(min(m.N, 255)))
		}
	}
	if x.Title == "" && len(s.tokens) > shortTokens {
		if head := slices.IndexFunc(x.Common, func(n uint8) bool { return n >= againLeast }); head > 0 && head <= headlineMost {
			x.Head = head
		}
	}
	covered, counted := 0, len(s.tokens)-x.Head
	for i := 0; i < len(s.tokens); {
		n, has, in, figures := 1, 0, 0, s.tokens[i].kind.isNumber()
		for ; i+n < len(s.tokens) && !s.tokens[i+n].clause; n++ {
			if x.Known[i+n-1] {
				has++
			}
			figures = figures || s.tokens[i+n].kind.isNumber()
		}
		for _, c := range x.Common[i : i+n] {
			if c > 0 {
				in++
			}
		}
		credit := 2*in < n && Credit(s.text[x.Tokens[i].Start:x.Tokens[i+n-1].End])
		covered += in
		if credit {
			counted -= n
		}
		if (n >= newsTokens || n > 1 && figures) && 3*has < n-1 && 2*in < n && !credit {
			x.OwnTokens += n
			x.own = append(x.own, s.tokens[i:i+n])
		}
		i += n
	}
	x.Covered = float32(min(covered, counted)) / float32(max(1, counted))
}

// chainMost bounds how many offsets of the earlier text are tried for a run.
const chainMost = 16

// align finds runs of the query in the earlier text, greedily from the left: at each token the longest run that
// begins there; among runs of equal length the one that continues the last run, or the first one behind it.
func (w *workspace) align(k int) {
	q, c := w.q.tokens, w.c.tokens
	w.runs = w.runs[:0]
	expect := int32(0)
	skip := 0
	for i, id := range w.q.shingles {
		if i < skip || w.first[id] < 0 {
			continue
		}
		best := run{q: int32(i), c: expect, n: commonPrefix(q[i:], c[min(int(expect), len(c)):])}
		for p, tries := w.first[id], 0; p >= 0 && tries < chainMost; p, tries = w.chain[p], tries+1 {
			n := commonPrefix(q[i:], c[p:])
			if n > best.n || n == best.n && p >= expect && (best.c < expect || p < best.c) {
				best.c, best.n = p, n
			}
		}
		if best.n < int32(k) {
			continue
		}
		w.runs = append(w.runs, best)
		skip = i + int(best.n)
		expect = best.c + best.n
	}
}

// commonPrefix is the number of tokens that both texts begin with.
func commonPrefix(a, b []token) int32 {
	n := min(len(a), len(b))
	for i := range n {
		if a[i].hash != b[i].hash {
			return int32(i)
		}
	}
	return int32(n)
}
