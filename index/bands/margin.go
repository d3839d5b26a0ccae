package bands

import (
	"cmp"
	"math/bits"
	"slices"
	"sync"

	"jianguo/index/bands/buckets"
	"jianguo/index/bands/sieve"
	"jianguo/simhash"
)

// Margin appends to dst the postings c with S(p, c) < maxS that the probes reach, each once.
// Of more than limit postings it appends those with the smallest S, the newest (highest
// ordinal) of equals, best first. A family of ten thousand bulletins costs one pass over
// its buckets. A print without features has no postings.
func (b *Bands) Margin(dst []Hit, p *simhash.Print, maxS float32, limit int) []Hit {
	return b.margin(dst, p, maxS, b.probes(), max(limit, 1))
}

func (b *Bands) margin(dst []Hit, p *simhash.Print, maxS float32, probes, limit int) []Hit {
	if maxS <= 0 || p.Empty() {
		return dst
	}
	m := margins.Get().(*margin)
	defer margins.Put(m)
	m.prepare(p, maxS)
	m.choose(probes)
	m.best.reset(limit)

	// What a probe will read is prefetched while earlier probes are scanned: first
	// the place of its bucket, then the bucket.
	for i := -prefetchBucket; i < len(m.probes); i++ {
		if ahead := i + prefetchBucket; ahead < len(m.probes) {
			s := m.probes[ahead]
			b.bands[s.band()].Prefetch(m.key(s))
		}
		if ahead := i + prefetchPostings; 0 <= ahead && ahead < len(m.probes) {
			s, v := m.probes[ahead], m.view(int32(ahead))
			*v = b.bands[s.band()].Bucket(m.key(s))
			v.Prefetch()
		}
		if i < 0 {
			continue
		}
		m.scan(i)
		if i%probeGroup == probeGroup-1 || i == len(m.probes)-1 {
			for _, n := range slices.Backward(m.near) { // newest first
				m.consider(b, n)
			}
			m.near = m.near[:0]
		}
	}
	clear(m.views[:]) // what they kept alive has been read
	return m.best.appendTo(dst)
}

const (
	prefetchBucket   = 8  // probes by which the place of a bucket is prefetched ahead
	prefetchPostings = 4  // probes by which its postings are
	probeGroup       = 32 // probes after which the last bits of near postings are read
)

// margin is one margin look-up.
type margin struct {
	print simhash.Print
	maxS  float32
	limit uint32 // maxS as a cost, and a little more

	// costs[i][x]: what it costs to flip the bits x of byte i, byte 0 being
	// the highest of the fingerprint.
	costs [8][256]uint32
	// single[b] are the sixteen bits of band b, cheapest first.
	single [bandCount][bandBits]subset
	probes []subset // all subsets below unprobed
	// unprobed is the cheapest subset that is not probed.
	unprobed subset
	guess    subset // the bound that choose ended with, in the last look-up

	// views[i%len(views)] is the bucket of probe i, for those of a group and the
	// few that are prefetched.
	views [2 * probeGroup]buckets.View
	near  []near // postings whose first 48 bits cost less than the limit
	sieve costTables
	best  best
}

// near is posting slot of the bucket of a probe, and what its first 48 bits cost.
type near struct {
	probe, slot int32
	cost        uint32
}

func (m *margin) view(probe int32) *buckets.View { return &m.views[int(probe)%len(m.views)] }

// margins keeps the tables of earlier look-ups.
var margins = sync.Pool{New: func() any { return new(margin) }}

func (m *margin) prepare(p *simhash.Print, maxS float32) {
	m.print, m.maxS = *p, maxS
	m.limit = m.bound(maxS)
	for i := range m.costs {
		for bit := range 8 {
			v := p.Margins[(7-i)*8+bit]
			c := uint32(min(v*v, simhash.Bits) * (1 << costBits))
			for x := range 1 << bit {
				m.costs[i][1<<bit+x] = m.costs[i][x] + c
			}
		}
	}
	for band := range m.single {
		for bit := range m.single[band] {
			m.single[band][bit] = m.subset(band, 1<<bit)
		}
		slices.Sort(m.single[band][:])
	}
	m.sieve.prepare(m)
}

// bound is an S as a cost. Costs are rounded down and the bound up, so that a
// posting with an S below s costs less than the bound; its S decides.
func (m *margin) bound(s float32) uint32 {
	return uint32(min(float64(s), simhash.Bits)*(1<<costBits)*1.0001) + 4
}

// cost of a difference of 16 bits in a band.
func (m *margin) cost(band int, x uint16) uint32 {
	return m.costs[2*band][x>>8] + m.costs[2*band+1][x&0xff]
}

func (m *margin) subset(band int, x uint16) subset {
	return subset(m.cost(band, x))<<18 | subset(band)<<16 | subset(x)
}

// key is the key that a probe visits.
func (m *margin) key(s subset) uint16 {
	return uint16(rotate(uint64(m.print.Fingerprint), s.band())>>48) ^ s.flips()
}

// choose fills probes with the n cheapest subsets of all bands together, or
// with all that cost less than a quarter of maxS, where those are fewer.
func (m *margin) choose(n int) {
	// Search for a cost below which there are at least n and at most 3n subsets,
	// beginning with that of the last look-up. There seldom are so many of equal cost
	// that none exists.
	most := 3 * n
	below, above := subset(0), subset(m.limit/bandCount+1)<<18
	end, grows := above, true // until too many lie below a cost
	for try := min(cmp.Or(m.guess, end/8), end); ; {
		switch fits := m.probe(try, most); {
		case !fits:
			above, grows = try, false
		case len(m.probes) >= n || try == end:
			m.guess = try
			if len(m.probes) > n {
				m.unprobed = nth(m.probes, n)
				m.probes = m.probes[:n]
			}
			return
		default:
			below = try
		}
		if grows {
			try = min(below+below/2+1, end)
		} else {
			try = below + (above-below+1)/2
		}
	}
}

// nth moves the n smallest of s to the front and returns the smallest of the others.
// All are different (Hoare 1961, quickselect).
func nth(s []subset, n int) subset {
	for lo, hi := 0, len(s)-1; lo < hi; {
		pivot, i, j := s[lo+(hi-lo)/2], lo, hi
		for i <= j {
			for s[i] < pivot {
				i++
			}
			for s[j] > pivot {
				j--
			}
			if i <= j {
				s[i], s[j] = s[j], s[i]
				i, j = i+1, j-1
			}
		}
		switch {
		case n <= j:
			hi = j
		case n >= i:
			lo = i
		default:
			return s[n]
		}
	}
	return s[n]
}

// probe fills probes with the subsets below unprobed. It returns false where there
// are more than n.
func (m *margin) probe(unprobed subset, n int) bool {
	m.unprobed, m.probes = unprobed, m.probes[:0]
	for band := range subset(bandCount) {
		if empty := band << 16; empty < unprobed {
			m.probes = append(m.probes, empty)
			m.widen(empty, 0, n)
		}
	}
	return len(m.probes) <= n
}

// widen adds the subsets that consist of s and further bits of its band, those from an
// index of single on.
func (m *margin) widen(s subset, from, n int) {
	const bandMask = 3 << 16
	for i, bit := range m.single[s.band()][from:] {
		wider := s + bit&^bandMask
		if wider >= m.unprobed || len(m.probes) > n {
			return
		}
		m.probes = append(m.probes, wider)
		m.widen(wider, from+i+1, n)
	}
}

// scan adds to near the postings of the bucket that a probe visits which may be hits.
//
// A posting in the bucket of a probe is a hit if the differences in that band,
// in that and the next, and in those and the one after, cost less than one,
// two and three quarters of maxS (the package comment says why this loses nothing
// where probes reach that quarter). 32 inline bits decide it, mostly the first 16.
func (m *margin) scan(probe int) {
	s, v := m.probes[probe], m.view(int32(probe))
	band := s.band()
	query := uint32(rotate(uint64(m.print.Fingerprint), band) >> 16)
	half, most := m.limit/2, m.limit/4*3
	if worst := m.worst(); worst < most {
		half, most = min(half, worst), worst
	}
	if s.cost() >= half {
		return
	}
	half, most = half-s.cost(), most-s.cost()
	c2, c3 := &m.costs[(2*band+2)&7], &m.costs[(2*band+3)&7]
	c4, c5 := &m.costs[(2*band+4)&7], &m.costs[(2*band+5)&7]
	all := v.Hi
	for from := 0; from < len(all); from += sieve.Step {
		hi := all[from:min(from+sieve.Step, len(all))] // its capacity goes on
		for i, mask := range m.sieve.pass(hi, query, band, half, most) {
			for ; mask != 0; mask &= mask - 1 {
				slot := 64*i + bits.TrailingZeros64(mask)
				x := hi[slot] ^ query
				cost := c2[x>>24] + c3[x>>16&0xff]
				if cost >= half {
					continue
				}
				if cost += c4[x>>8&0xff] + c5[x&0xff]; cost < most {
					v.PrefetchLo(from + slot)
					m.near = append(m.near, near{int32(probe), int32(from + slot), s.cost() + cost})
				}
			}
		}
	}
}

// worst is the cost from which on no posting can be among the best any more. It also
// bounds the cost of a part of the bits, so that most members of a family of
// thousands are dropped early.
func (m *margin) worst() uint32 {
	if !m.best.cut {
		return m.limit
	}
	return m.bound(m.best.worst)
}

// consider adds a near posting to the best, if its S is low enough, no earlier band
// reports it and it has not been removed.
func (m *margin) consider(b *Bands, n near) {
	s, v, slot := m.probes[n.probe], m.view(n.probe), int(n.slot)
	band, lo := s.band(), v.Lo(slot)
	last := lo ^ uint16(rotate(uint64(m.print.Fingerprint), band))
	if n.cost+m.cost((band+3)%bandCount, last) >= m.worst() {
		return
	}
	key := uint64(m.key(s))<<48 | uint64(v.Hi[slot])<<16 | uint64(lo)
	fp := simhash.Fingerprint(rotate(key, bandCount-band))
	score := m.print.S(fp)
	if score >= m.maxS || score > m.best.worst || m.home(uint64(fp^m.print.Fingerprint)) != band {
		return
	}
	if ordinal, ok := b.ordinal(v, slot); ok {
		m.best.add(Hit{fp, ordinal}, score)
	}
}

// home is the first band in which a posting that differs by x is a hit.
func (m *margin) home(x uint64) int {
	for band := range bandCount {
		r := rotate(x, band)
		if m.subset(band, uint16(r>>48)) >= m.unprobed {
			continue
		}
		sum := m.cost(band, uint16(r>>48)) + m.cost((band+1)%bandCount, uint16(r>>32))
		if sum < m.limit/2 && sum+m.cost((band+2)%bandCount, uint16(r>>16)) < m.limit/4*3 {
			return band
		}
	}
	return -1
}

// costTables are the costs of a margin look-up as package sieve takes them: in units
// of which half of maxS makes costUnits, rounded down, so that every posting that
// costs less than the bounds passes. Some that cost more pass as well.
type costTables struct {
	unit uint32
	// nibbles[b] are the costs of the nibbles of band b. The first band stands once
	// more at the end.
	nibbles [bandCount + 1][4][16]uint8
	masks   sieve.Masks
}

const costUnits = 128

func (s *costTables) prepare(m *margin) {
	s.unit = m.limit/2/costUnits + 1
	for band := range bandCount {
		for j := range s.nibbles[band] {
			for x := range s.nibbles[band][j] {
				cost := m.cost(band, uint16(x)<<(12-4*j)) / s.unit
				s.nibbles[band][j][x] = uint8(min(cost, 255))
			}
		}
	}
	s.nibbles[bandCount] = s.nibbles[0]
}

// pass returns a bit for each posting of a bucket of band, sieve.Step at most: set
// where its next band may cost less than next, and that and the one after less than
// both, which are half and three quarters of maxS at most.
func (s *costTables) pass(hi []uint32, query uint32, band int, next, both uint32) []uint64 {
	tables := (*sieve.Tables)(s.nibbles[(band+1)%bandCount:])
	return sieve.Sift(&s.masks, hi, query, tables, sieve.Bounds{Next: next/s.unit + 1, Both: both/s.unit + 1})
}
