package compare

import (
	"cmp"
	"slices"
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

const (
	movedLeast = 12 // tokens of the shortest moved match: shorter ones may occur twice by chance
	againLeast = 8  // tokens of the shortest run that counts where a text says something again
)

// related reports whether aligning two texts may show that they are.
func (x *Alignment) related() bool {
	return max(x.Later.Contained, x.Earlier.Contained) >= float32(x.limits.Look)
}

func Align(later, earlier *Doc) *Alignment {
	l := DefaultLimits()
	l.Look = 0
	return align(later, earlier, &l)
}

// align leaves out Matches where the texts are not related.
func align(later, earlier *Doc, limits *Limits) *Alignment {
	x := &Alignment{Later: Side{Doc: later, run: make([]int32, len(later.tokens))},
		Earlier: Side{Doc: earlier, run: make([]int32, len(earlier.tokens))}, limits: limits}
	if len(later.tokens) == 0 || later.k != earlier.k { // a text of under four tokens has nothing in common with others
		x.fillSaid()
		return x
	}
	t := borrowTable(earlier.shingles)
	defer tables.Put(t)
	x.measure(t)
	if !x.related() {
		return x
	}
	runs := x.findRuns(t)
	g := search{a: later.tokens, b: earlier.tokens, most: limits.GapPairs, budget: limits.Pairs}
	g.fill(inOrder(runs, len(earlier.tokens)))
	x.Partial = g.budget < 0
	for _, m := range g.out {
		x.add(m)
	}
	for _, r := range runs {
		if limits.Off != "moved" {
			x.move(r)
		}
		if r.N >= againLeast && limits.Off != "again" { // what a text says again is in no match
			x.Later.mark(r.Later, r.N)
		}
	}
	slices.SortFunc(x.Matches, func(a, b Match) int { return cmp.Compare(a.Later, b.Later) })
	x.Later.Covered, x.Earlier.Covered = float32(inRuns(x.Later.run, 1)), float32(inRuns(x.Earlier.run, 1))
	x.fillSaid()
	return x
}

// fillSaid fills in which quantities the other text says.
func (x *Alignment) fillSaid() {
	x.Later.said, x.Earlier.said = x.Earlier.saidOf(x.Later.Doc), x.Later.saidOf(x.Earlier.Doc)
}

// measure fills in the resemblance and the shares of the shingles.
func (x *Alignment) measure(t *table) {
	inLater, inEarlier, both := 0, 0, 0
	met := make([]bool, len(x.Earlier.shingles))
	for _, h := range x.Later.shingles {
		p := t.find(h)
		if p < 0 {
			continue
		}
		if inLater++; !met[p] {
			both++
		}
		for ; p >= 0 && !met[p]; p = t.following(p) {
			met[p] = true
			inEarlier++
		}
	}
	x.Resemblance = float32(both) / float32(x.Later.distinct+x.Earlier.distinct-both)
	x.Later.Contained = float32(inLater) / float32(len(x.Later.shingles))
	x.Earlier.Contained = float32(inEarlier) / float32(len(met))
}

// Run is the length of the longest run in common that a token is in, 0 for none.
func (s *Side) Run(token int) int { return int(s.run[token]) }

func (s *Side) mark(from, n int) {
	for i := from; i < from+n; i++ {
		s.run[i] = max(s.run[i], int32(n))
	}
}

// inRuns is the share of some tokens, by the longest run of each, that are in a run of at least so many.
func inRuns(run []int32, least int) float64 {
	n := 0
	for _, r := range run {
		if int(r) >= least {
			n++
		}
	}
	return float64(n) / float64(max(1, len(run)))
}

// findRuns finds runs greedily from the left: at each token the longest run that begins there; among runs of equal
// length the one that continues the last run, or the first one behind it.
func (x *Alignment) findRuns(t *table) (runs []Match) {
	a, b := x.Later.tokens, x.Earlier.tokens
	for i, expect := 0, 0; i < len(x.Later.shingles); i++ {
		best := Match{Later: i, Earlier: expect, N: commonPrefix(a[i:], b[expect:])}
		p := t.find(x.Later.shingles[i])
		for tries := 0; p >= 0 && tries < x.limits.Offsets; p, tries = t.following(p), tries+1 {
			n := commonPrefix(a[i:], b[p:])
			if n > best.N || n == best.N && p >= expect && (best.Earlier < expect || p < best.Earlier) {
				best.Earlier, best.N = p, n
			}
		}
		if best.N >= x.Later.k {
			runs = append(runs, best)
			i, expect = i+best.N-1, best.Earlier+best.N
		}
	}
	return runs
}

// commonPrefix is the number of tokens that both begin with.
func commonPrefix(a, b []token) (n int) {
	for most := min(len(a), len(b)); n < most && a[n].id == b[n].id; {
		n++
	}
	return n
}

// inOrder chooses, of the runs that stand in the same order in both texts, those that cover most: the heaviest
// increasing subsequence, with the best chain that ends before an offset in a Fenwick tree.
func inOrder(runs []Match, tokens int) (chain []Match) {
	type link struct{ weight, last int }
	tree := make([]link, tokens+1)
	before := make([]int, len(runs))
	best := link{last: -1}
	for i, x := range runs {
		top := link{last: -1}
		for at := x.Earlier; at > 0; at -= at & -at {
			if tree[at].weight > top.weight {
				top = tree[at]
			}
		}
		before[i] = top.last
		here := link{top.weight + x.N, i}
		for at := x.Earlier + x.N; at < len(tree); at += at & -at {
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

// A search looks for shorter runs in what lies between runs.
type search struct {
	a, b   []token
	out    []Match
	most   int // pairs of tokens of a gap that is searched
	budget int // pairs of tokens of all
	row    []int32
}

func (g *search) fill(chain []Match) {
	a, b := 0, 0
	for _, x := range append(chain, Match{Later: len(g.a), Earlier: len(g.b)}) {
		g.within(a, x.Later, b, x.Earlier)
		g.add(x.Later, x.Earlier, x.N)
		a, b = x.Later+x.N, x.Earlier+x.N
	}
}

// add appends a match behind the last one, or lengthens that.
func (g *search) add(a, b, n int) {
	if n == 0 {
		return
	}
	if k := len(g.out) - 1; k >= 0 && g.out[k].Later+g.out[k].N == a && g.out[k].Earlier+g.out[k].N == b {
		g.out[k].N += n
		return
	}
	g.out = append(g.out, Match{Later: a, Earlier: b, N: n})
}

// within adds what two gaps have in common: equal ends, and the longest run between them, where the gaps are searched
// again (Ratcliff & Obershelp 1988).
func (g *search) within(a0, a1, b0, b1 int) {
	n := commonPrefix(g.a[a0:a1], g.b[b0:b1])
	g.add(a0, b0, n)
	a0, b0 = a0+n, b0+n
	n = 0
	for a1-n > a0 && b1-n > b0 && g.a[a1-n-1].id == g.b[b1-n-1].id {
		n++
	}
	a1, b1 = a1-n, b1-n
	work := (a1 - a0) * (b1 - b0)
	if g.budget -= work; work > 0 && work <= g.most && g.budget >= 0 {
		if i, j, k := g.longest(a0, a1, b0, b1); k >= leastRun(max(a1-a0, b1-b0)) {
			g.within(a0, i, b0, j)
			g.add(i, j, k)
			g.within(i+k, a1, j+k, b1)
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
func (g *search) longest(a0, a1, b0, b1 int) (i, j, n int) {
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

// add adds a match, and marks its tokens.
func (x *Alignment) add(m Match) {
	x.Matches = append(x.Matches, m)
	x.Later.mark(m.Later, m.N)
	x.Earlier.mark(m.Earlier, m.N)
}

// move adds the parts of a run whose tokens are in no match.
func (x *Alignment) move(r Match) {
	for k := 0; k < r.N; k++ {
		m := Match{Later: r.Later + k, Earlier: r.Earlier + k, Moved: true}
		for k+m.N < r.N && x.Later.run[m.Later+m.N] == 0 && x.Earlier.run[m.Earlier+m.N] == 0 {
			m.N++
		}
		if m.N >= movedLeast {
			x.add(m)
		}
		k += m.N
	}
}

// A gap is what lies between matches: tokens a0 to a1 of the later text, b0 to b1 of the earlier one.
type gap struct{ a0, a1, b0, b1 int }

// both reports whether both texts have tokens there.
func (g gap) both() bool { return g.a0 < g.a1 && g.b0 < g.b1 }

// longer is the number of tokens of the text that has more.
func (g gap) longer() int { return max(g.a1-g.a0, g.b1-g.b0) }

// between are the gaps of the matches that did not move, of two texts of so many tokens.
func between(matches []Match, later, earlier int) (out []gap) {
	a, b := 0, 0
	for _, m := range append(slices.Clip(matches), Match{Later: later, Earlier: earlier}) {
		if m.Moved {
			continue
		}
		if m.Later > a || m.Earlier > b {
			out = append(out, gap{a, m.Later, b, m.Earlier})
		}
		a, b = m.Later+m.N, m.Earlier+m.N
	}
	return out
}

// gaps are those of all matches.
func (x *Alignment) gaps() []gap {
	return between(x.Matches, len(x.Later.tokens), len(x.Earlier.tokens))
}
