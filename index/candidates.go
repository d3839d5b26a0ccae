package index

import (
	"cmp"
	"context"
	"errors"
	"slices"

	"jianguo/sketch"
)

// candidate is a proposal that is being judged. Of a stranger there is no
// opinion.
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

// candidates are the proposals that something living stands behind, as many as
// are judged; apart from them those that are known for strangers.
func (x *Index) candidates(a *Article, proposals []proposal, at uint32, own map[uint32]bool) (candidates, strangers []*candidate) {
	outline := a.Sketch.Outline()
	for i := range proposals[:min(len(proposals), x.policy.Judged)] {
		x.versions.prefetch(proposals[i].ordinal)
	}
	all := make([]candidate, 0, min(len(proposals), x.policy.Judged))
	x.clusters.mu.RLock()
	defer x.clusters.mu.RUnlock()
	for _, p := range proposals {
		if len(all) == cap(all) {
			break
		}
		t, ok := x.targetLocked(p.ordinal, at, own)
		if !ok {
			continue
		}
		all = append(all, candidate{proposal: p, target: t})
		if c := &all[len(all)-1]; x.stranger(&outline, p.ordinal) {
			strangers = append(strangers, c)
		} else {
			candidates = append(candidates, c)
		}
	}
	return candidates, strangers
}

// compare forms an opinion of each candidate by its sketch, and leaves out
// those whose rows cannot be read yet.
func (x *Index) compare(ctx context.Context, r rows, a *Article, candidates []*candidate, m *memo) ([]*candidate, error) {
	if err := x.relatives.fetch(ctx, r, candidates, m); err != nil {
		return nil, err
	}
	seen := candidates[:0]
	for _, c := range candidates {
		var err error
		c.opinion, err = x.onSketch(ctx, r, a, &c.proposal, m)
		if errors.Is(err, errUnseen) {
			continue
		}
		if err != nil {
			return nil, err
		}
		seen = append(seen, c)
	}
	return seen, nil
}

// crowded reports whether strangers may take the places of candidates whose
// texts were to be looked at. Those candidates are what is left in order, after
// so many before them.
func (x *Index) crowded(a *Article, left []*candidate, before, strangers int) bool {
	if strangers == 0 || before+len(left)+strangers <= x.policy.Texts || !x.readable(a) {
		return false
	}
	// What is unrelated scores Doubt at most.
	return left[0].judgement.Score <= float32(x.policy.Thresholds.Doubt) &&
		slices.ContainsFunc(left, func(c *candidate) bool { return !c.hopeless(&x.policy) })
}

// judgeAll judges all proposals together: every one on its sketch, the
// likeliest again on their texts. A zero verdict means that none has to do
// with the article. What m remembers is not compared again.
//
// A stranger would be unrelated, and its text would not be looked at: all it
// can do is take the place of a less likely candidate among those that are
// looked at. Where it may, the strangers' sketches are read after all.
func (x *Index) judgeAll(ctx context.Context, r rows, a *Article, proposals []proposal, at uint32, own map[uint32]bool, m *memo) (judgement, error) {
	candidates, strangers := x.candidates(a, proposals, at, own)
	m.strangers = len(strangers)
	candidates, err := x.compare(ctx, r, a, candidates, m)
	if err != nil || len(candidates) == 0 {
		return judgement{}, err
	}
	slices.SortFunc(candidates, likelier)
	var q query
	defer q.close()
	looked := 0
	for i := 0; i < min(len(candidates), x.policy.Texts); i++ {
		if x.crowded(a, candidates[i:], i, len(strangers)) {
			strangers, err = x.compare(ctx, r, a, strangers, m)
			if err != nil {
				return judgement{}, err
			}
			candidates, strangers, m.strangers = append(candidates, strangers...), nil, 0
			slices.SortFunc(candidates[i:], likelier)
		}
		c := candidates[i]
		if c.hopeless(&x.policy) {
			continue
		}
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
