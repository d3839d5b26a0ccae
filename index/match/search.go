package match

import (
	"cmp"
	"slices"

	"jianguo/index/bands"
	"jianguo/index/verdict"
	"jianguo/simhash"
)

// Proposal is an exemplar that an article may be a copy of, and how it was found.
type Proposal struct {
	Ordinal  uint32
	Rule     verdict.Rule
	Distance int     // bits; -1: found by a key, the fingerprint is not known
	S        float32 // from the article's margins; -1 likewise
}

// found is what the postings have proposed at one moment.
type found struct {
	hamming, margin    []bands.Hit
	reach              bands.Reach // of margin
	sketches, passages []uint32
}

// search asks the postings for all that an article may be a copy of: exemplars
// within the Hamming distance, those that differ in weak bits, for short texts
// those that share MinHash keys, and those that share a passage or all figures.
// Of a family of thousands it returns the nearest.
func (m *Matcher) search(a *verdict.Article) *found {
	f := new(found)
	keys, passages := a.Sketch.Keys(), a.Sketch.PassageKeys()
	m.bands.PrefetchKeys(keys)
	m.bands.PrefetchKeys(passages)
	if !a.Print.Empty() {
		f.hamming, _ = m.bands.HammingLimit(nil, a.Print.Fingerprint, m.policy.Distance, m.policy.Judged)
		f.margin, _ = m.bands.Margin(nil, &a.Print, m.policy.MaxS, m.policy.Judged, &f.reach)
		for _, h := range f.margin {
			m.rows.Prefetch(h.Ordinal)
		}
	}
	m.searchKeys(f, keys, passages)
	return f
}

func (m *Matcher) searchKeys(f *found, keys, passages []uint64) {
	f.sketches = m.bands.Candidates(f.sketches[:0], keys, m.policy.Judged)
	f.passages = m.bands.Candidates(f.passages[:0], passages, m.policy.Passages)
}

// proposals lists what a search found, each exemplar once, the smallest S first.
func (m *Matcher) proposals(a *verdict.Article, f *found) []Proposal {
	n := len(f.hamming) + len(f.margin) + len(f.sketches) + len(f.passages)
	if n == 0 {
		return nil
	}
	proposals, seen := make([]Proposal, 0, n), make(map[uint32]bool, n)
	for _, hits := range [2][]bands.Hit{f.hamming, f.margin} {
		for _, h := range hits {
			if seen[h.Ordinal] {
				continue
			}
			seen[h.Ordinal] = true
			p := Proposal{Ordinal: h.Ordinal, Rule: verdict.ByMargin, Distance: simhash.Distance(h.Fingerprint,
				a.Print.Fingerprint), S: a.Print.S(h.Fingerprint)}
			if p.Distance <= m.policy.Distance {
				p.Rule = verdict.ByHamming
			}
			proposals = append(proposals, p)
		}
	}
	slices.SortFunc(proposals, func(p, q Proposal) int {
		return cmp.Or(cmp.Compare(p.S, q.S), cmp.Compare(p.Ordinal, q.Ordinal))
	})
	for _, by := range []struct {
		rule     verdict.Rule
		ordinals []uint32
	}{{verdict.BySketch, f.sketches}, {verdict.ByPassage, f.passages}} {
		for _, ordinal := range by.ordinals {
			if !seen[ordinal] {
				seen[ordinal] = true
				proposals = append(proposals, Proposal{Ordinal: ordinal, Rule: by.rule, Distance: -1, S: -1})
			}
		}
	}
	return proposals
}

// Propose searches for what an article may be a copy of, unrelated texts
// included.
func (m *Matcher) Propose(a *verdict.Article) []Proposal { return m.proposals(a, m.search(a)) }

// renew brings a search up to date with the journal, from the number that was
// next when the search started: it then holds what a new search would find. It
// returns false where the changes do not tell: an exemplar within reach was
// removed, and the bound may have hidden another that takes its place. Writer
// only.
func (m *Matcher) renew(a *verdict.Article, f *found, since uint64) bool {
	changes := m.journal.since(since)
	if !a.Print.Empty() {
		if !f.reach.Holds(m.bands) {
			return false
		}
		near, far := len(f.hamming), len(f.margin)
		for _, part := range changes {
			for i := range part {
				if !m.follow(a, f, &part[i]) {
					return false
				}
			}
		}
		if len(f.hamming) > near {
			f.hamming = m.nearest(f.hamming,
				func(h bands.Hit) float32 { return float32(simhash.Distance(h.Fingerprint, a.Print.Fingerprint)) })
		}
		if len(f.margin) > far {
			f.margin = m.nearest(f.margin, func(h bands.Hit) float32 { return a.Print.S(h.Fingerprint) })
		}
	}
	if keys, passages := a.Sketch.Keys(), a.Sketch.PassageKeys(); m.journal.sharing(keys, since) ||
		m.journal.sharing(passages, since) {
		m.searchKeys(f, keys, passages)
	}
	return true
}

// follow adds one change to a search; false as renew.
func (m *Matcher) follow(a *verdict.Article, f *found, c *change) bool {
	if c.Fingerprint == 0 {
		return true
	}
	within := simhash.Distance(c.Fingerprint, a.Print.Fingerprint) <= m.policy.Distance
	_, met := f.reach.Meets(c.Fingerprint)
	if (within || met) && c.removed {
		return false
	}
	if within {
		f.hamming = append(f.hamming, bands.Hit{Fingerprint: c.Fingerprint, Ordinal: c.ordinal})
	}
	if met {
		f.margin = append(f.margin, bands.Hit{Fingerprint: c.Fingerprint, Ordinal: c.ordinal})
	}
	return true
}

// nearest keeps as many hits as are judged, in the order of package bands: the
// smallest score first, of equals the newest. A hit can be there twice: found by
// the search, and in the journal.
func (m *Matcher) nearest(hits []bands.Hit, score func(bands.Hit) float32) []bands.Hit {
	slices.SortFunc(hits, func(a, b bands.Hit) int {
		return cmp.Or(cmp.Compare(score(a), score(b)), cmp.Compare(b.Ordinal, a.Ordinal))
	})
	hits = slices.CompactFunc(hits, func(a, b bands.Hit) bool { return a.Ordinal == b.Ordinal })
	return hits[:min(len(hits), m.policy.Judged)]
}
