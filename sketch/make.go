package sketch

import (
	"slices"
	"time"
)

// Make builds the sketch of a text.
func Make(in Input) Sketch {
	w := workspaces.Get().(*workspace)
	defer w.release()
	w.q.buffer = appendTokens(w.q.buffer[:0], in.text())
	w.q.tokens = w.q.buffer
	var s Sketch
	if len(w.q.tokens) == 0 {
		return s
	}
	s.Tokens = uint32(len(w.q.tokens))
	s.shingles = minhash(&w.shingles, w.q.tokens, shingleK, s.mins[:])
	s.keepKeys(w.q.tokens, &w.shingles)
	s.soft = minhash(&w.pairs, w.q.tokens, softK, s.softMins[:])
	w.facts = appendFacts(w.facts[:0], w.q.tokens)
	s.keepFacts(w)
	return s
}

// minhash fills minima, which are zero, and returns the number of distinct shingles. A text shorter than k is
// one shingle.
func minhash(table *grams, tokens []token, k int, minima []byte) uint32 {
	k = min(k, len(tokens))
	table.reset(len(tokens))
	var least [bins]uint64
	for h := range shingles(tokens, k) {
		if _, fresh := table.put(h); fresh {
			lower(&least[pick(h, 2*len(minima))], mix(h))
		}
	}
	pack(minima, least[:])
	return uint32(table.used)
}

// lower lowers the least hash of a bin; 0 is that of an empty bin.
func lower(least *uint64, h uint64) {
	if h |= 1; *least == 0 || h < *least {
		*least = h
	}
}

// pack fills minima with 1…15 for each bin that is not empty.
func pack(minima []byte, least []uint64) {
	for b := range 2 * len(minima) {
		if least[b] != 0 {
			minima[b/2] |= byte(1+pick(mix(least[b]), 15)) << (b % 2 * 4)
		}
	}
}

// keepFacts keeps the facts whose places hash lowest, so that two texts keep the same places where both have
// them.
func (s *Sketch) keepFacts(w *workspace) {
	w.numbers = distinct(w.numbers[:0], w.facts)
	var least [factBins]uint64
	for _, v := range w.numbers {
		s.Digest += mix(v)
		lower(&least[pick(mix(v+1), factBins)], mix(v+2))
	}
	pack(s.figureMins[:], least[:])
	s.figures = uint32(len(w.numbers))
	slices.SortStableFunc(w.facts, func(a, b fact) int { return int(a.place) - int(b.place) })
	room := s.slotRoom()
	last := -1
	for _, f := range w.facts {
		if int(f.place) == last {
			continue
		}
		last = int(f.place)
		if s.nslots == room {
			break
		}
		s.slots[s.nslots] = slot{f.place, byte(f.value >> 56)}
		s.nslots++
	}
}

// Input is what a sketch is made from: segment.Text without its fingerprint.
type Input struct {
	Title, Body string   // normal forms, clauses separated by '\n'
	Names       []string // place, company and person names
	Sentences   []int32  // the offsets in Body where sentences begin; none if unknown
	// Published is the day it was published, in days since 1970; 0 is unknown. Only comparisons of texts use
	// it.
	Published int32
	// Residue are clauses of the text that carry no weight in comparisons of texts.
	Residue *Residue
}

// Day is the day of a time for Input.Published; unknown for the zero time.
func Day(t time.Time) int32 {
	if t.IsZero() {
		return 0
	}
	return int32(t.Unix() / (24 * 60 * 60))
}

// shortBody is the length in bytes (a Han character is three) below which a body says too little alone, and is
// compared with its headline before it.
const shortBody = 180

// headed reports that the headline is compared with the body.
func (in *Input) headed() bool { return len(in.Body) < shortBody && in.Title != in.Body }

// text is what is compared.
func (in *Input) text() string {
	if in.headed() {
		return in.Title + "\n" + in.Body
	}
	return in.Body
}
