package index

import (
	"cmp"
	"context"
	"errors"
	"slices"

	"jianguo/sketch"
)

// candidate is a proposal that is being judged.
type candidate struct {
	proposal
	target
	*opinion
}

// better orders candidates: the best judgement wins (duplicate, suspect,
// series), then resemblance, then age.
func better(a, b *candidate) int {
	return cmp.Or(cmp.Compare(b.judgement.Kind, a.judgement.Kind), cmp.Compare(b.comparison.Resemblance, a.comparison.Resemblance),
		cmp.Compare(a.lead, b.lead), cmp.Compare(a.proposal.ordinal, b.proposal.ordinal))
}

// likelier orders candidates by how much a closer look may show.
func likelier(a, b *candidate) int {
	return cmp.Or(cmp.Compare(b.judgement.Score, a.judgement.Score), cmp.Compare(b.comparison.Resemblance, a.comparison.Resemblance),
		cmp.Compare(a.proposal.ordinal, b.proposal.ordinal))
}

// candidates are the proposals that something living stands behind, but for those
// whose outlines tell them for strangers.
//
// Strangers take no place among those that are judged, nor among those whose texts
// are looked at: nine in ten proposals of a large index are strangers, and whether a
// copy is found is not to depend on how many of them lie near by chance. Which they
// are is the same by outlines and by sketches, so that a verdict does not depend on
// what is in memory.
func (x *Index) candidates(a *Article, proposals []proposal, at uint32, own map[uint32]bool, m *memo) []*candidate {
	outline := a.Sketch.Outline()
	known := m.strangers
	unknown := make([]proposal, 0, len(proposals))
	for _, p := range proposals {
		if _, ok := slices.BinarySearch(known, p.ordinal); !ok {
			x.rows.Prefetch(p.ordinal)
			unknown = append(unknown, p)
		}
	}
	var all []*candidate
	for _, p := range unknown {
		if x.stranger(&outline, p.ordinal) {
			m.strangers = append(m.strangers, p.ordinal)
		} else if t, ok := x.target(p.ordinal, at, own); ok {
			all = append(all, &candidate{proposal: p, target: t})
		}
	}
	slices.Sort(m.strangers)
	return all
}

// compare forms an opinion of candidates by their sketches, the most promising
// first, until as many as are judged are no strangers. It leaves out strangers, and
// those whose rows cannot be read yet.
func (x *Index) compare(ctx context.Context, r rows, a *Article, candidates []*candidate, m *memo) ([]*candidate, error) {
	judged := candidates[:0]
	for len(candidates) > 0 && len(judged) < x.policy.Judged {
		next := candidates[:min(len(candidates), x.policy.Judged-len(judged))]
		candidates = candidates[len(next):]
		if err := x.relatives.fetch(ctx, r, next, m); err != nil {
			return nil, err
		}
		for _, c := range next {
			var err error
			c.opinion, err = x.onSketch(ctx, r, a, &c.proposal, m)
			if errors.Is(err, errUnseen) {
				continue
			}
			if err != nil {
				return nil, err
			}
			if !c.unrelated(&x.policy) {
				judged = append(judged, c)
			}
		}
	}
	return judged, nil
}

// judgeAll judges all proposals together: every one on its sketch, the
// likeliest again on their texts. A zero verdict means that none has to do
// with the article. What m remembers is not compared again.
func (x *Index) judgeAll(ctx context.Context, r rows, a *Article, proposals []proposal, at uint32, own map[uint32]bool, m *memo) (judgement, error) {
	candidates, err := x.compare(ctx, r, a, x.candidates(a, proposals, at, own, m), m)
	if err != nil || len(candidates) == 0 {
		return judgement{}, err
	}
	slices.SortFunc(candidates, likelier)
	var q query
	defer q.close()
	looked := 0
	for i, c := range candidates[:min(len(candidates), x.policy.Texts)] {
		o, err := x.onText(ctx, r, a, &c.proposal, m, &q)
		if err != nil && !errors.Is(err, errUnseen) {
			return judgement{}, err
		}
		if o != nil {
			c.opinion = o
			looked = i + 1
		}
		if c.judgement.Kind == sketch.Duplicate {
			break // the likeliest comes first: another could only be a copy of the same
		}
	}
	if looked > 0 {
		// What a text has shown is not outdone by an estimate.
		candidates = candidates[:looked]
	}
	best := slices.MinFunc(candidates, better)
	if best.judgement.Kind == sketch.Unrelated {
		return judgement{}, nil
	}
	return x.verdictOf(best.judgement, best.comparison, best.proposal, best.target), nil
}
