package compare

import (
	"cmp"
	"slices"
	"sync"
)

// Alignment is what two texts have in common, passage by passage. All that is said of a pair comes from it.
type Alignment struct {
	Later, Earlier Side
	// Matches are runs of equal tokens, in the order of the later text: those in the same order in both texts, found
	// so that they cover most, and moved ones of at least movedLeast tokens.
	Matches []Match
	// Resemblance is the Jaccard coefficient of the shingles, 0…1.
	Resemblance float32
	// Partial reports that gaps were not searched to the end, so that something equal may count as different.
	Partial bool
	limits  *Limits
}

// Side is one of the two texts.
type Side struct {
	*Doc
	Contained float32 // share of the shingles that the other text has
	Covered   float32 // share of the tokens that are in a run in common
	run       []int32 // by token, the length of the longest run in common that it is in; 0: none
	said      []bool  // by quantity, whether the other text says it
}

// Match is a run of N equal tokens, from token Later and from token Earlier on.
type Match struct {
	Later, Earlier, N int
	Moved             bool // it stands in another place among the other matches
}

// Bounds of an alignment.
const (
	movedLeast = 12 // tokens of the shortest moved match: shorter ones may occur twice by chance
	againLeast = 8  // tokens of the shortest run that counts where a text says something again
)

// related reports whether aligning two texts may show that they are.
func (x *Alignment) related() bool {
	return max(x.Later.Contained, x.Earlier.Contained) >= float32(x.limits.Look)
}

// Align aligns two texts.
func Align(later, earlier *Doc) *Alignment {
	l := DefaultLimits()
	l.Look = 0
	return align(later, earlier, &l)
}

// align leaves out Matches where the texts are not related.
func align(later, earlier *Doc, limits *Limits) *Alignment {
	later, earlier = later.within(limits.Values), earlier.within(limits.Values)
	x := &Alignment{Later: Side{Doc: later}, Earlier: Side{Doc: earlier}, limits: limits}
	if len(later.tokens) == 0 || later.k != earlier.k { // a text of under four tokens has nothing in common with others
		x.says()
		return x
	}
	t := tables.Get().(*table)
	defer tables.Put(t)
	t.fill(earlier.shingles)
	x.measure(t)
	if !x.related() {
		return x
	}
	runs := x.findRuns(t)
	g := gaps{a: later.tokens, b: earlier.tokens, most: limits.GapPairs, budget: limits.Pairs}
	if limits.Off == "gaps" {
		g.budget = 0
	}
	g.fill(inOrder(runs, len(earlier.tokens)))
	x.Partial = g.budget < 0
	x.Matches = g.out
	if limits.Off != "moved" {
		x.Matches = append(g.out, moved(runs, g.out, len(later.tokens), len(earlier.tokens))...)
		slices.SortFunc(x.Matches, func(a, b Match) int { return cmp.Compare(a.Later, b.Later) })
	}
	x.Later.run, x.Earlier.run = make([]int32, len(later.tokens)), make([]int32, len(earlier.tokens))
	for _, m := range x.Matches {
		x.Later.mark(m.Later, m.N)
		x.Earlier.mark(m.Earlier, m.N)
	}
	for _, r := range runs { // what a text says again is in no match
		if r.n >= againLeast && limits.Off != "again" {
			x.Later.mark(int(r.q), int(r.n))
		}
	}
	x.Later.cover()
	x.Earlier.cover()
	x.says()
	return x
}

// says fills in which quantities the other text says.
func (x *Alignment) says() {
	x.Later.said, x.Earlier.said = x.Earlier.saysOf(x.Later.Doc), x.Later.saysOf(x.Earlier.Doc)
}

var tables = sync.Pool{New: func() any { return new(table) }}

// measure fills in the resemblance and the shares of the shingles.
func (x *Alignment) measure(t *table) {
	inLater, inEarlier, both := 0, 0, 0
	for _, h := range x.Later.shingles {
		slot := t.slot(h)
		if t.first[slot] == 0 {
			continue
		}
		inLater++
		if first := t.first[slot]; first > 0 { // seen for the first time
			both++
			for p := first - 1; p >= 0; p = t.following(p) {
				inEarlier++
			}
			t.first[slot] = -first
		}
	}
	for i, first := range t.first {
		t.first[i] = max(first, -first)
	}
	x.Resemblance = float32(both) / float32(x.Later.distinct+x.Earlier.distinct-both)
	x.Later.Contained = float32(inLater) / float32(len(x.Later.shingles))
	x.Earlier.Contained = float32(inEarlier) / float32(len(t.next))
}

// Run is the length of the longest run in common that a token is in, 0 for none.
func (s *Side) Run(token int) int {
	if s.run == nil {
		return 0
	}
	return int(s.run[token])
}

func (s *Side) mark(from, n int) {
	for i := from; i < from+n; i++ {
		s.run[i] = max(s.run[i], int32(n))
	}
}

func (s *Side) cover() {
	n := 0
	for _, r := range s.run {
		n += int(min(r, 1))
	}
	s.Covered = float32(n) / float32(len(s.run))
}

// knows says, by token of another text, whether a text has the pair that begins there, in its body or its headline.
func (d *Doc) knows(other *Doc) []bool {
	t := tables.Get().(*table)
	defer tables.Put(t)
	pairs := appendShingles(make([]uint64, 0, len(d.tokens)+len(d.title)), d.tokens, min(pairK, len(d.tokens)))
	if len(d.title) >= pairK {
		pairs = appendShingles(pairs, d.title, pairK)
	}
	t.fill(pairs)
	known := make([]bool, len(other.tokens))
	for i, h := range appendShingles(pairs[:0], other.tokens, min(pairK, len(other.tokens))) {
		known[i] = t.find(h) >= 0
	}
	return known
}

// run is a maximal stretch of n equal tokens, at q in the later text and c in the earlier one.
type run struct{ q, c, n int32 }

// findRuns finds runs greedily from the left: at each token the longest run that begins there; among runs of equal
// length the one that continues the last run, or the first one behind it.
func (x *Alignment) findRuns(t *table) (runs []run) {
	a, b := x.Later.tokens, x.Earlier.tokens
	expect, skip := int32(0), 0
	for i, h := range x.Later.shingles {
		if i < skip {
			continue
		}
		p := t.find(h)
		if p < 0 {
			continue
		}
		best := run{q: int32(i), c: expect, n: commonPrefix(a[i:], b[min(int(expect), len(b)):])}
		for tries := 0; p >= 0 && tries < x.limits.Offsets; p, tries = t.following(p), tries+1 {
			n := commonPrefix(a[i:], b[p:])
			if n > best.n || n == best.n && p >= expect && (best.c < expect || p < best.c) {
				best.c, best.n = p, n
			}
		}
		if best.n >= int32(x.Later.k) {
			runs = append(runs, best)
			skip, expect = i+int(best.n), best.c+best.n
		}
	}
	return runs
}

// commonPrefix is the number of tokens that both begin with.
func commonPrefix(a, b []token) int32 {
	n := min(len(a), len(b))
	for i := range n {
		if a[i].id != b[i].id {
			return int32(i)
		}
	}
	return int32(n)
}

// inOrder chooses, of the runs that stand in the same order in both texts, those that cover most: the heaviest
// increasing subsequence, with the best chain that ends before an offset in a Fenwick tree.
func inOrder(runs []run, tokens int) (chain []run) {
	type link struct{ weight, last int32 }
	tree := make([]link, tokens+1)
	before := make([]int32, len(runs))
	best := link{last: -1}
	for i, x := range runs {
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
		chain = append(chain, runs[i])
	}
	slices.Reverse(chain)
	return chain
}

// gaps searches what lies between runs for shorter ones.
type gaps struct {
	a, b   []token
	out    []Match
	most   int // pairs of tokens of a gap that is searched
	budget int // pairs of tokens of all
	row    []int32
}

func (g *gaps) fill(chain []run) {
	a, b := 0, 0
	for _, x := range chain {
		g.search(a, int(x.q), b, int(x.c))
		g.add(int(x.q), int(x.c), int(x.n))
		a, b = int(x.q+x.n), int(x.c+x.n)
	}
	g.search(a, len(g.a), b, len(g.b))
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

// search adds what two gaps have in common: equal ends, and the longest run between them, where the gaps are searched
// again (Ratcliff & Obershelp 1988).
func (g *gaps) search(a0, a1, b0, b1 int) {
	n := int(commonPrefix(g.a[a0:a1], g.b[b0:b1]))
	g.add(a0, b0, n)
	a0, b0 = a0+n, b0+n
	n = 0
	for a1-n > a0 && b1-n > b0 && g.a[a1-n-1].id == g.b[b1-n-1].id {
		n++
	}
	a1, b1 = a1-n, b1-n
	if work := (a1 - a0) * (b1 - b0); work > g.most {
		g.budget = min(g.budget, g.budget-work)
	} else if work > 0 {
		if g.budget -= work; g.budget >= 0 {
			if i, j, k := g.longest(a0, a1, b0, b1); k >= leastRun(max(a1-a0, b1-b0)) {
				g.search(a0, i, b0, j)
				g.add(i, j, k)
				g.search(i+k, a1, j+k, b1)
			}
		}
	}
	g.add(a1, b1, n)
}

// leastRun is the length that a run needs in a gap of so many tokens: in a short gap any token counts, in a long one
// a single 的 means nothing.
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
	g.row = append(g.row[:0], make([]int32, b1-b0+1)...)
	for a := a0; a < a1; a++ {
		id := g.a[a].id
		for b := b1 - 1; b >= b0; b-- {
			if id != g.b[b].id {
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
func moved(runs []run, matches []Match, later, earlier int) (out []Match) {
	usedA, usedB := make([]bool, later), make([]bool, earlier)
	use := func(m Match) {
		for k := range m.N {
			usedA[m.Later+k], usedB[m.Earlier+k] = true, true
		}
	}
	for _, m := range matches {
		use(m)
	}
	for _, x := range runs {
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

// eachGap calls f for what lies between the matches that did not move: tokens a0 to a1 of the later text, b0 to b1 of
// the earlier one.
func (x *Alignment) eachGap(f func(a0, a1, b0, b1 int)) {
	a, b := 0, 0
	for _, m := range append(slices.Clip(x.Matches), Match{Later: len(x.Later.tokens),
		Earlier: len(x.Earlier.tokens)}) {
		if m.Moved {
			continue
		}
		if m.Later > a || m.Earlier > b {
			f(a, m.Later, b, m.Earlier)
		}
		a, b = m.Later+m.N, m.Earlier+m.N
	}
}
