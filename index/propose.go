package index

import (
	"cmp"
	"slices"

	"jianguo/index/bands"
	"jianguo/simhash"
)

// search is what the resident postings had to propose at one moment.
type search struct {
	hamming, margin    []bands.Hit
	reach              bands.Reach // of margin
	sketches, passages []uint32
}

// search asks the postings for whatever an article may be a copy of: every
// exemplar within the Hamming distance, those found over weak bits, for short
// texts those that share MinHash keys, and those that share a passage or all
// figures. Bounded: of a family of thousands the nearest are judged.
func (x *Index) search(a *Article) *search {
	s := new(search)
	keys, passages := a.Sketch.Keys(), a.Sketch.PassageKeys()
	x.bands.PrefetchKeys(keys)
	x.bands.PrefetchKeys(passages)
	if !a.Print.Empty() {
		s.hamming, _ = x.bands.HammingLimit(nil, a.Print.Fingerprint, x.policy.Distance, x.policy.Judged)
		s.margin, _ = x.bands.MarginReach(nil, &a.Print, x.policy.MaxS, bands.Budget{}, x.policy.Judged, &s.reach)
		for _, h := range s.margin {
			x.rows.Prefetch(h.Ordinal) // soon judged, and anywhere
		}
	}
	x.searchKeys(s, keys, passages)
	return s
}

func (x *Index) searchKeys(s *search, keys, passages []uint64) {
	s.sketches = x.bands.Candidates(s.sketches[:0], keys, x.policy.Judged)
	s.passages = x.bands.Candidates(s.passages[:0], passages, x.policy.Passages)
}

// proposals are what a search found, each once, the most promising first.
func (x *Index) proposals(a *Article, s *search) []proposal {
	n := len(s.hamming) + len(s.margin) + len(s.sketches) + len(s.passages)
	if n == 0 {
		return nil
	}
	proposals, seen := make([]proposal, 0, n), make(map[uint32]bool, n)
	for _, hits := range [2][]bands.Hit{s.hamming, s.margin} {
		for _, h := range hits {
			if seen[h.Ordinal] {
				continue
			}
			seen[h.Ordinal] = true
			p := proposal{ordinal: h.Ordinal, rule: ByMargin, distance: simhash.Distance(h.Fingerprint, a.Print.Fingerprint), s: a.Print.S(h.Fingerprint)}
			if p.distance <= x.policy.Distance {
				p.rule = ByHamming
			}
			proposals = append(proposals, p)
		}
	}
	slices.SortFunc(proposals, func(p, q proposal) int {
		return cmp.Or(cmp.Compare(p.s, q.s), cmp.Compare(p.ordinal, q.ordinal))
	})
	for _, by := range []struct {
		rule     Rule
		ordinals []uint32
	}{{BySketch, s.sketches}, {ByPassage, s.passages}} {
		for _, ordinal := range by.ordinals {
			if !seen[ordinal] {
				seen[ordinal] = true
				proposals = append(proposals, proposal{ordinal: ordinal, rule: by.rule, distance: -1, s: -1})
			}
		}
	}
	return proposals
}

// propose is a search made now.
func (x *Index) propose(a *Article) []proposal { return x.proposals(a, x.search(a)) }

// renew brings a search up to now, given what has changed since it began. It
// then finds what a search made now would find; where that cannot be told from
// the changes (something within reach has gone, and whoever stood behind it may
// take its place), false.
func (x *Index) renew(a *Article, s *search, since uint64) bool {
	changes := x.journal.since(since)
	if !a.Print.Empty() {
		if !s.reach.Holds(x.bands, bands.Budget{}) {
			return false
		}
		near, far := len(s.hamming), len(s.margin)
		for _, part := range changes {
			for i := range part {
				c := &part[i]
				if c.fingerprint == 0 {
					continue
				}
				within := simhash.Distance(c.fingerprint, a.Print.Fingerprint) <= x.policy.Distance
				_, met := s.reach.Meets(c.fingerprint)
				if (within || met) && c.removed {
					return false
				}
				if within {
					s.hamming = append(s.hamming, bands.Hit{Fingerprint: c.fingerprint, Ordinal: c.ordinal})
				}
				if met {
					s.margin = append(s.margin, bands.Hit{Fingerprint: c.fingerprint, Ordinal: c.ordinal})
				}
			}
		}
		if len(s.hamming) > near {
			s.hamming = x.nearest(s.hamming, func(h bands.Hit) float32 { return float32(simhash.Distance(h.Fingerprint, a.Print.Fingerprint)) })
		}
		if len(s.margin) > far {
			s.margin = x.nearest(s.margin, func(h bands.Hit) float32 { return a.Print.S(h.Fingerprint) })
		}
	}
	if keys, passages := a.Sketch.Keys(), a.Sketch.PassageKeys(); x.journal.sharing(keys, since) || x.journal.sharing(passages, since) {
		x.searchKeys(s, keys, passages)
	}
	return true
}

// nearest keeps of the hits as many as are judged, in the order of package
// bands: the smallest score first, of equals the newest. A hit may be there
// twice: found, and told of by the journal.
func (x *Index) nearest(hits []bands.Hit, score func(bands.Hit) float32) []bands.Hit {
	slices.SortFunc(hits, func(a, b bands.Hit) int {
		return cmp.Or(cmp.Compare(score(a), score(b)), cmp.Compare(b.Ordinal, a.Ordinal))
	})
	hits = slices.CompactFunc(hits, func(a, b bands.Hit) bool { return a.Ordinal == b.Ordinal })
	return hits[:min(len(hits), x.policy.Judged)]
}
