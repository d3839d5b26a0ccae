package sketch

import "sync"

// gram is what the tables know of one shingle.
type gram struct {
	hash     uint64
	epoch    uint32
	inQ, inC uint32 // occurrences in the query and in the earlier text
	first    int32  // head of the chain of positions in the earlier text
}

// grams is an open-addressing table that forgets everything by counting its
// epoch up. Its owner is the workspace that holds it.
type grams struct {
	all   []gram
	slots []gram // the part of all in use, a power of two
	epoch uint32
	used  int
}

// reset makes room for n shingles.
func (g *grams) reset(n int) {
	size := 64
	for size < 2*n {
		size *= 2
	}
	if len(g.all) < size || g.epoch == ^uint32(0) {
		g.all, g.epoch = make([]gram, size), 0
	}
	g.slots = g.all[:size]
	g.epoch++
	g.used = 0
}

// at returns the entry of a hash, a fresh one when it is new. Callers put in
// no more than reset was told.
func (g *grams) at(h uint64) *gram {
	mask := uint64(len(g.slots) - 1)
	for i := h & mask; ; i = (i + 1) & mask {
		e := &g.slots[i]
		if e.epoch != g.epoch {
			*e = gram{hash: h, epoch: g.epoch, first: -1}
			g.used++
			return e
		}
		if e.hash == h {
			return e
		}
	}
}

// find returns the entry of a hash, or nil.
func (g *grams) find(h uint64) *gram {
	mask := uint64(len(g.slots) - 1)
	for i := h & mask; ; i = (i + 1) & mask {
		e := &g.slots[i]
		if e.epoch != g.epoch {
			return nil
		}
		if e.hash == h {
			return e
		}
	}
}

// workspace holds the buffers of one Make or CompareTexts, so that neither
// allocates once warm.
type workspace struct {
	q, c            side
	table           grams
	soft            grams
	chain           []int32
	runs            []run
	covered         []bool
	facts           []fact
	agree, conflict []spot
	lacking         []uint64
	sorted          []string // names; cleared after use, so that no text is held
}

// side is one of the two texts.
type side struct {
	tokens  []token
	head    []token
	numbers []uint64
	words   []uint64
	novel   []span // clauses
}

var workspaces = sync.Pool{New: func() any { return new(workspace) }}

// keepTokens bounds the buffers that go back to the pool: one text of the
// largest size must not hold on to its memory for ever.
const keepTokens = 1 << 14

func (w *workspace) release() {
	if cap(w.q.tokens) > keepTokens || cap(w.c.tokens) > keepTokens {
		return
	}
	workspaces.Put(w)
}
