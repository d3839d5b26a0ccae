package sketch

import "sync"

// grams numbers the distinct shingles of a text from 0, in order of their first
// appearance. Its owner is the workspace that holds it.
type grams struct {
	hashes []uint64 // open addressing; 0 is a free place
	ids    []int32  // beside them
	used   int
}

// reset forgets everything and makes room for n shingles.
func (g *grams) reset(n int) {
	size := 64
	for size < 2*n {
		size *= 2
	}
	if cap(g.hashes) < size {
		g.hashes, g.ids = make([]uint64, size), make([]int32, size)
	} else {
		g.hashes, g.ids = g.hashes[:size], g.ids[:size]
		clear(g.hashes)
	}
	g.used = 0
}

// place is where a hash is, or would be; found says which. Callers put in no
// more hashes than reset was told.
func (g *grams) place(h uint64) (i uint64, found bool) {
	mask := uint64(len(g.hashes) - 1)
	for i = h & mask; i < uint64(len(g.hashes)); i = (i + 1) & mask {
		switch g.hashes[i] {
		case h:
			return i, true
		case 0:
			return i, false
		}
	}
	return 0, false // not reached: a power of two is never exceeded
}

// put returns the number of a hash, a new one when it is new.
func (g *grams) put(h uint64) (id int32, fresh bool) {
	h = max(h, 1)
	i, found := g.place(h)
	if !found {
		g.hashes[i], g.ids[i] = h, int32(g.used)
		g.used++
	}
	return g.ids[i], !found
}

// find returns the number of a hash, -1 for none.
func (g *grams) find(h uint64) int32 {
	if i, found := g.place(max(h, 1)); found {
		return g.ids[i]
	}
	return -1
}

// appendTo appends the hashes, in no order.
func (g *grams) appendTo(dst []uint64) []uint64 {
	for _, h := range g.hashes {
		if h != 0 {
			dst = append(dst, h)
		}
	}
	return dst
}

// workspace holds the buffers of one Make or Query, so that neither allocates
// once warm.
type workspace struct {
	q, c side
	// shingles and pairs number the grams of the query, others those of the
	// earlier text that the query lacks; othersIn counts its pairs among them.
	shingles, pairs, others grams
	othersIn                []int32
	// k and kPairs are the tokens of a gram in shingles and pairs.
	k, kPairs int
	inQ, inC  []int32 // by the number of a pair of the query: occurrences in each text
	// first and chain are where the earlier text has a shingle: the last place by
	// the shingle's number, and by place the one before; -1 ends it.
	first, chain    []int32
	runs            []run
	covered         []bool
	facts           []fact
	agree, conflict []spot
	lacking         []uint64
	renames         []renaming
}

// side is one of the two texts, and what is worked out of it alone.
type side struct {
	in     Input
	text   string // what is compared of it
	tokens []token
	// shingles and pairs are the numbers of its grams by the token they begin
	// with: those of the query's grams, -1 for others.
	shingles, pairs []int32
	head            []token
	words           []uint64 // Latin words of the text, in order
	known           []uint64 // the same, the headline's added
	facts, placed   []fact   // in the order of the text, and of their places
	numbers         []uint64 // distinct figures, in order
	names           []string // in order
	novel           []span   // clauses
	says            [len(developments)]bool
}

var workspaces = sync.Pool{New: func() any { return new(workspace) }}

// keepTokens bounds the buffers that go back to the pool: one text of the
// largest size must not hold on to its memory for ever.
const keepTokens = 1 << 14

func (w *workspace) release() {
	for _, s := range [...]*side{&w.q, &w.c} { // so that no text is held
		s.in, s.text = Input{}, ""
		clear(s.names)
	}
	if cap(w.q.tokens) > keepTokens || cap(w.c.tokens) > keepTokens {
		return
	}
	workspaces.Put(w)
}
