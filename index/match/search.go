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

// Propose searches for all that an article may be a copy of, unrelated texts included: exemplars within the Hamming
// distance, those that differ in weak bits, for short texts those that share MinHash keys, and those that share a
// passage or all figures. Of a family of thousands it finds the nearest. Each stands once, the smallest S first.
func (m *Matcher) Propose(q *Query) []Proposal {
	a, keys, passages := q.Article, q.Article.Sketch.Keys(), q.Article.Sketch.PassageKeys()
	postings := m.Bands.Among(func(o uint32) bool {
		return m.Rows.Alive(m.policy, o, m.Clusters.Resolve(m.Rows.Cluster(o)), q.At)
	})
	var hits []bands.Hit
	if !a.Print.Empty() {
		hits = postings.Hamming(nil, a.Print.Fingerprint, m.policy.Distance, m.policy.Judged)
		hits = postings.Margin(hits, &a.Print, m.policy.MaxS, m.policy.Judged)
	}
	sketches := postings.Candidates(nil, keys, m.policy.Judged)
	shared := postings.Candidates(nil, passages, m.policy.Passages)
	n := len(hits) + len(sketches) + len(shared)
	proposals, seen := make([]Proposal, 0, n), make(map[uint32]bool, n)
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
	slices.SortFunc(proposals, func(p, q Proposal) int {
		return cmp.Or(cmp.Compare(p.S, q.S), cmp.Compare(p.Ordinal, q.Ordinal))
	})
	byKeys := func(rule verdict.Rule, ordinals []uint32) {
		for _, ordinal := range ordinals {
			if !seen[ordinal] {
				seen[ordinal] = true
				proposals = append(proposals, Proposal{Ordinal: ordinal, Rule: rule, Distance: -1, S: -1})
			}
		}
	}
	byKeys(verdict.BySketch, sketches)
	byKeys(verdict.ByPassage, shared)
	return proposals
}
