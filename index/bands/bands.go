// Package bands holds postings in memory: which exemplars have which 16-bit
// key in which band. Every look-up of the index is answered here.
//
// # Fingerprints
//
// A 64-bit fingerprint is cut into four bands of 16 bits and has a posting in
// each. Posting a of a fingerprint lies under its bits rotated left by 16·a:
// 16 bits choose the bucket, the next 16 are those of the next band.
//
// Hamming finds every posting at distance ≤ 3, without exception: three flips leave one of four
// bands whole (Manku, Jain, Das Sarma 2007).
//
// Margin finds what is further away over weak bits: S(p, c) < maxS. In each
// band it visits the keys reached by flipping the query's weakest bits: the
// subsets of bits with the smallest sums of squared margins, over all four
// bands together, as many as the budget allows. Going round the bands, a posting
// with S < maxS differs in some band by less than maxS/4, in that and the next
// by less than maxS/2, in those and the one after by less than 3·maxS/4 (the
// pigeonring principle, Qin and Xiao 2018, over costs). So subsets that cost maxS/4 are not probed, and of a
// bucket only postings within these bounds are hits, which 32 bits almost always
// decide (package sieve).
//
// On 114 hand-labelled pairs of real reprints with S < 5, 256 probes find 95 %,
// 320 (up to 5 million fingerprints; see Bands.probes) 97 %, 512
// find 99 % and 1024 all of them; of everything that a full scan finds at S < 5,
// unrelated texts included, 70, 75, 85 and 94 %.
//
// # Keys
//
// Short texts meet through hashed keys (AddKeys, Candidates) in the same
// buckets. Keys are known by their upper 48 bits: that two of ten million
// texts with seven keys each meet by chance costs one judgement in 600,000
// look-ups. Of a key that very many texts have, look-ups read the newest postings.
//
// # Concurrency
//
// Any number of look-ups run beside the one writer: the caller serialises writers. They
// never wait for it and never see half of a posting list. A fingerprint that is
// added or removed while a look-up runs may be found or not.
package bands

import (
	"math/bits"

	"jianguo/index/bands/buckets"
	"jianguo/simhash"
)

// bandCount bands of bandBits bits make up a fingerprint.
const (
	bandCount = 4
	bandBits  = simhash.Bits / bandCount
)

// Hit is a posting that a look-up proposes.
type Hit struct {
	Fingerprint simhash.Fingerprint
	Ordinal     uint32
}

// Bands are postings in memory.
type Bands struct {
	bands [bandCount]*buckets.Table // of fingerprints rotated by 16 bits a band
	keys  *buckets.Table
	// Full is the number of fingerprints up to which margin look-ups have their most
	// probes: 5 million, except in tests.
	Full int

	alive func(ordinal uint32) bool // look-ups pass over others; nil: there are none
}

func New() *Bands {
	b := &Bands{keys: buckets.New(true), Full: defaultFull}
	for i := range b.bands {
		b.bands[i] = buckets.New(false)
	}
	return b
}

// Among returns the same postings for look-ups that pass over versions which are not alive: whether these were removed
// already changes no look-up.
func (b *Bands) Among(alive func(ordinal uint32) bool) *Bands {
	among := *b
	among.alive = alive
	return &among
}

// ordinal is that of posting i of a bucket; !ok: a look-up passes over it.
func (b *Bands) ordinal(v *buckets.View, i int) (ordinal uint32, ok bool) {
	ordinal, ok = v.Ordinal(i)
	return ordinal, ok && (b.alive == nil || b.alive(ordinal))
}

// rotate returns a fingerprint's key in a band: its bits from band·16 first.
func rotate(x uint64, band int) uint64 { return bits.RotateLeft64(x, bandBits*band) }

// Add adds a posting in every band. Writer only. A posting that is there already is added once
// more: where that is possible (a replay over a snapshot), call Remove first. Add panics
// beyond buckets.MaxOrdinal.
func (b *Bands) Add(fp simhash.Fingerprint, ordinal uint32) {
	for i, t := range b.bands {
		t.Append(rotate(uint64(fp), i), ordinal)
	}
}

// Remove removes the posting from every band and reports whether it was there. Writer only.
func (b *Bands) Remove(fp simhash.Fingerprint, ordinal uint32) bool {
	removed := 0
	for i, t := range b.bands {
		removed += t.Remove(rotate(uint64(fp), i), ordinal)
	}
	return removed > 0
}

// Stored are the tables that a snapshot holds. Pages may hold more than was durable when a
// snapshot began, and an interrupted one harms nothing: what has changed since then is
// replayed with Remove, which does nothing where nothing is to do, and Add.
func (b *Bands) Stored() []*buckets.Table { return append(b.bands[:], b.keys) }

// Len is the number of fingerprints held.
func (b *Bands) Len() int { return b.bands[0].Len() }

const (
	defaultProbes = 320
	leastProbes   = 160       // up to vast times Full
	defaultFull   = 5_000_000 // fingerprints
	vast          = 20
)

// probes is how many keys a look-up tries at most in the four bands together, at the
// present size. A probe reads every posting of a bucket, so its cost is proportional to the
// size of the index, while later probes find less and less. So there are 320 up to 5 million
// fingerprints (Full), then fewer in proportion down to 160 at 10 million; and past
// 100 million (20 times Full) fewer again, so that a look-up visits no more postings
// than it does there. The number falls in eight steps while the index doubles, so that
// look-ups made shortly after each other mostly have the same reach.
func (b *Bands) probes() int {
	n := b.Len()
	if n <= b.Full {
		return defaultProbes
	}
	step := max(1<<(bits.Len(uint(n))-1)/8, 1)
	n = (n + step - 1) / step * step
	return max(defaultProbes*b.Full/n, min(leastProbes, leastProbes*vast*b.Full/n), bandCount)
}

func (b *Bands) Bytes() (n int64) {
	for _, t := range b.Stored() {
		n += t.Bytes()
	}
	return n
}

// Skew is the number of postings that the look-up of an indexed fingerprint reads in a band, divided by the number if
// all buckets were equally full: 1 for random fingerprints, 0 without any. It counts over all buckets: milliseconds.
func (b *Bands) Skew() float64 {
	met, even := 0.0, 0.0
	for _, t := range b.bands {
		n, squares := t.Slots()
		met += squares
		even += n*n/buckets.Keys + n // a random key has a Poisson many neighbours, and itself
	}
	return met / max(even, 1)
}

// Costs are squared margins in fixed point: their sums do not depend on the order of
// adding, so "cheaper" means the same in every look-up.
const costBits = 20

// subset is a set of bits of one band that may be flipped: its cost, band and
// bits in one number, so that subsets are totally ordered and one number bounds
// exactly what is probed.
//
//	bits 18…63 the sum of the squared margins, bits 16 and 17 the band,
//	bits 0…15 the bits of the key that are flipped
type subset uint64

func (s subset) cost() uint32  { return uint32(s >> 18) }
func (s subset) band() int     { return int(s >> 16 & 3) }
func (s subset) flips() uint16 { return uint16(s) }
