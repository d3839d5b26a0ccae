package bands

import (
	"slices"
	"sync"

	"jianguo/index/bands/buckets"
	"jianguo/simhash"
)

// Budget bounds a margin look-up. The zero value lets the size of the index
// decide.
type Budget struct {
	// Probes is how many keys are tried in the four bands together. 0: 256.
	Probes int
}

const (
	defaultProbes = 256
	maxProbes     = 1 << 16 // of 2¹⁸ subsets there are
	sifted        = 1024    // postings looked at in one go
)

// Margin appends to dst postings c with S(p, c) < maxS, each once, in no
// order: those that the probes of the budget reach. A print without features
// has none.
func (b *Bands) Margin(dst []Hit, p *simhash.Print, maxS float32, budget Budget) []Hit {
	if maxS <= 0 || p.Empty() {
		return dst
	}
	probes := budget.Probes
	if probes <= 0 {
		probes = defaultProbes
	}
	m := margins.Get().(*margin)
	defer margins.Put(m)
	m.prepare(p, maxS)
	m.choose(probes)

	pin := b.memory.Pin()
	defer pin.Unpin()
	for group := range slices.Chunk(m.probes, len(m.views)) {
		for i, s := range group {
			m.views[i] = b.bands[s.band()].Bucket(m.key(s))
		}
		for i := range group {
			m.touched += m.views[i].Touch()
		}
		m.near = m.near[:0]
		for i, s := range group {
			m.scan(i, s)
		}
		for _, n := range m.near {
			m.touched += uint32(m.views[n.view].Lo[n.at])
		}
		for _, n := range m.near {
			dst = m.consider(dst, n, group[n.view])
		}
	}
	return dst
}

// Costs are squared margins in fixed point, so that sums do not depend on
// their order and every look-up means the same by "cheaper".
const costBits = 20

// subset is a set of bits of one band that may be flipped: its cost, band and
// bits in one number, so that no two subsets are equally cheap and "cheaper than
// the first that was not probed" says exactly what was probed.
//
//	bits 18…63 the sum of the squared margins, bits 16 and 17 the band,
//	bits 0…15 the bits of the key that are flipped
type subset uint64

func (s subset) cost() uint32  { return uint32(s >> 18) }
func (s subset) band() int     { return int(s >> 16 & 3) }
func (s subset) flips() uint16 { return uint16(s) }

// margin is one margin look-up.
type margin struct {
	print simhash.Print
	maxS  float32
	limit uint32 // maxS as a cost, and a little more

	// costs[i][x]: what it costs to flip the bits x of byte i, byte 0 being
	// the highest of the fingerprint.
	costs  [8][256]uint32
	probes []subset // in the order of their cost
	open   heap     // subsets that come next

	// The buckets of a few probes, made ready together.
	views   [32]buckets.View
	touched uint32
	sifted  [sifted]uint32
	near    []place // postings whose first 48 bits leave something of the limit
	// unprobed is the cheapest subset not among probes.
	unprobed subset
}

// place is posting at of views[view].
type place struct{ view, at int }

// margins keeps the tables of look-ups that ended.
var margins = sync.Pool{New: func() any { return new(margin) }}

func (m *margin) prepare(p *simhash.Print, maxS float32) {
	m.print, m.maxS = *p, maxS
	// The sums are rounded down, so that whatever S says is below maxS is
	// below limit; S has the last word.
	m.limit = uint32(min(float64(maxS), simhash.Bits)*(1<<costBits)*1.0001) + 1
	for i := range m.costs {
		for bit := range 8 {
			v := p.Margins[(7-i)*8+bit]
			c := uint32(min(v*v, simhash.Bits) * (1 << costBits))
			for x := range 1 << bit {
				m.costs[i][1<<bit+x] = m.costs[i][x] + c
			}
		}
	}
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
	return uint16(buckets.Rotate(uint64(m.print.Fingerprint), s.band())>>48) ^ s.flips()
}

// choose fills probes with the n cheapest subsets of all bands that cost less
// than a quarter of maxS.
func (m *margin) choose(n int) {
	var single [bandCount][bandBits]subset // by cost
	for band := range single {
		for bit := range single[band] {
			single[band][bit] = m.subset(band, 1<<bit)
		}
		slices.Sort(single[band][:])
	}
	// Every subset but the empty one is made, once, from a cheaper one: of
	// {…, i} come {…, i, i+1} and {…, i+1}, counting bits by their cost.
	const bandMask = 3 << 16
	m.probes, m.open = m.probes[:0], m.open[:0]
	for band := range single {
		m.open.push(made{m.subset(band, 0), -1})
	}
	stop := subset((m.limit+bandCount-1)/bandCount) << 18
	for len(m.probes) < min(n, maxProbes) {
		top := m.open.pop()
		if top.subset >= stop {
			m.unprobed = stop
			return
		}
		m.probes = append(m.probes, top.subset)
		if next := top.last + 1; next < bandBits {
			bits := &single[top.subset.band()]
			add := bits[next] &^ bandMask
			m.open.push(made{top.subset + add, next})
			if top.last >= 0 {
				m.open.push(made{top.subset + add - bits[top.last]&^bandMask, next})
			}
		}
	}
	m.unprobed = m.open.pop().subset
}

// scan adds to near what is in the bucket that probe s visits, views[view].
func (m *margin) scan(view int, s subset) {
	band := s.band()
	query := uint32(buckets.Rotate(uint64(m.print.Fingerprint), band) >> 16)
	left := m.limit - s.cost()
	c2, c3 := &m.costs[(2*band+2)&7], &m.costs[(2*band+3)&7]
	c4, c5 := &m.costs[(2*band+4)&7], &m.costs[(2*band+5)&7]
	all := m.views[view].Hi
	for from := 0; from < len(all); from += len(m.sifted) {
		hi := all[from:min(from+len(m.sifted), len(all))]
		n := sift(&m.sifted, hi, query, c2, c3, left)
		for _, i := range m.sifted[:n] {
			x := hi[i] ^ query
			if c2[x>>24]+c3[x>>16&0xff]+c4[x>>8&0xff]+c5[x&0xff] < left {
				m.near = append(m.near, place{view, from + int(i)})
			}
		}
	}
}

// sift puts the places of the postings whose first 16 bits leave something of
// the limit into places, and returns how many those are. One in eight does,
// so a branch would often be mispredicted: there is none. Costs are below 2³¹.
func sift(places *[sifted]uint32, hi []uint32, query uint32, costs, costsNext *[256]uint32, left uint32) uint32 {
	n := uint32(0)
	for i, h := range hi {
		x := h ^ query
		places[n%sifted] = uint32(i)
		n += (costs[x>>24] + costsNext[x>>16&0xff] - left) >> 31
	}
	return n
}

// consider appends a posting in the bucket that probe s visits, if S says so
// and no earlier band reports it.
func (m *margin) consider(dst []Hit, n place, s subset) []Hit {
	v, band := &m.views[n.view], s.band()
	key := uint64(m.key(s))<<48 | uint64(v.Hi[n.at])<<16 | uint64(v.Lo[n.at])
	fp := simhash.Fingerprint(buckets.Rotate(key, bandCount-band))
	if m.print.S(fp) >= m.maxS || m.seen(uint64(fp^m.print.Fingerprint), band) {
		return dst
	}
	if ordinal, ok := v.Ordinal(n.at); ok {
		dst = append(dst, Hit{fp, ordinal})
	}
	return dst
}

// seen reports whether a posting that differs by d is found in an earlier band.
func (m *margin) seen(d uint64, band int) bool {
	for b := range band {
		if m.subset(b, uint16(buckets.Rotate(d, b)>>48)) < m.unprobed {
			return true
		}
	}
	return false
}

// made is a subset and which of its band's bits, by cost, is its dearest.
type made struct {
	subset subset
	last   int
}

// heap is a binary heap, cheapest first.
type heap []made

func (h *heap) push(m made) {
	*h = append(*h, m)
	s := *h
	for i := len(s) - 1; i > 0; {
		up := (i - 1) / 2
		if s[up].subset <= s[i].subset {
			return
		}
		s[up], s[i] = s[i], s[up]
		i = up
	}
}

func (h *heap) pop() made {
	s := *h
	top := s[0]
	last := len(s) - 1
	s[0] = s[last]
	s = s[:last]
	for i := 0; ; {
		down := 2*i + 1
		if down >= len(s) {
			break
		}
		if down+1 < len(s) && s[down+1].subset < s[down].subset {
			down++
		}
		if s[i].subset <= s[down].subset {
			break
		}
		s[i], s[down] = s[down], s[i]
		i = down
	}
	*h = s
	return top
}
