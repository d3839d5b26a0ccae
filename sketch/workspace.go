package sketch

import "sync"

// workspace holds the buffers of one Make or Query, so that neither allocates once they have grown.
type workspace struct {
	q, c     side
	digested bool // q is
	// shingles and pairs number those of the query, others those of the earlier text that the query lacks;
	// othersIn counts its pairs among them.
	shingles, pairs, others grams
	othersIn                []int32
	// k and kPairs are the lengths of what is in shingles and pairs, in tokens.
	k, kPairs int
	inQ, inC  []int32 // by the number of a pair of the query: occurrences in each text
	// first and chain are the offsets of a shingle in the earlier text: the last one by the shingle's number,
	// and by offset the one before; -1 ends the chain, and unknown stands where the query lacks the shingle.
	first, chain []int32
	runs         []run
	facts        []fact
	numbers      []uint64
	softA, softB float32 // shares of the pairs that the other text has
}

// side is one of the two texts, and what depends on it alone.
type side struct {
	in     Input
	text   string  // what is compared of it
	buffer []token // all tokens
	tokens []token // those of them that are compared
	// before are the tokens of the credits and the dateline before these.
	before []token
	// shingles and pairs are, by the token they begin with, the numbers of its shingles and pairs among the
	// query's; -1 for others.
	shingles, pairs []int32
	head            []token
	words           []uint64 // Latin words of the text, sorted
	known           []uint64 // the same with those of the headline
	said            []Fact   // figures and times
	dated           []Fact   // those of before
	names           []string // sorted
	spots           []Bytes  // where they stand
}

const unknown = -2

var workspaces = sync.Pool{New: func() any { return new(workspace) }}

// keepTokens bounds the buffers that go back to the pool, so that a very long text does not keep its memory.
const keepTokens = 1 << 14

func (w *workspace) release() {
	for _, s := range [...]*side{&w.q, &w.c} { // the pool holds no text
		s.in, s.text = Input{}, ""
		clear(s.names)
	}
	if cap(w.q.buffer) > keepTokens || cap(w.c.buffer) > keepTokens {
		return
	}
	workspaces.Put(w)
}

// run is a maximal stretch of n equal tokens, at q in the query and c in the earlier text.
type run struct{ q, c, n int32 }

// span is some tokens of a text.
type span struct{ from, to int32 }

// pairIn is how often each of the two texts has a pair.
func (w *workspace) pairIn(h uint64) (inQ, inC int32) {
	if id := w.pairs.find(h); id >= 0 {
		return w.inQ[id], w.inC[id]
	}
	if id := w.others.find(h); id >= 0 {
		return 0, w.othersIn[id]
	}
	return 0, 0
}

func (w *workspace) pairInQ(h uint64) bool { return w.pairs.find(h) >= 0 }
func (w *workspace) pairInC(h uint64) bool { _, inC := w.pairIn(h); return inC > 0 }
