package match

import "context"

// Comparing judges one article on given proposals, for tests that open a whole
// catalogue.
type Comparing struct{ c comparing }

// NewComparing returns a Comparing with nothing cached.
func NewComparing(m *Matcher, r *Reader, q *Query) *Comparing {
	return &Comparing{comparing{Matcher: m, reader: r, query: q, known: map[uint32]*comparison{}}}
}

// Judge judges the article on proposals.
func (c *Comparing) Judge(ctx context.Context, proposals []Proposal) (Judgement, error) {
	c.c.compared, c.c.tokens = nil, 0
	best, err := c.c.best(ctx, proposals)
	if err != nil || best == nil {
		return Judgement{}, err
	}
	return c.c.conclude(best, c.c.tied(best)), nil
}

// Unrelated returns the ordinals whose outlines show that they are unrelated.
func (c *Comparing) Unrelated(proposals []Proposal) (ordinals []uint32) {
	outline := c.c.query.Article.Sketch.Outline
	for _, p := range proposals {
		if c.c.unrelated(&outline, p.Ordinal) {
			ordinals = append(ordinals, p.Ordinal)
		}
	}
	return ordinals
}

// Sketch compares the article with a proposal by sketches, and reports whether the policy classifies the two as unrelated.
func (c *Comparing) Sketch(ctx context.Context, p Proposal) (unrelated bool, err error) {
	o, err := c.c.compareSketch(ctx, &p)
	if err != nil {
		return false, err
	}
	return c.c.policy.Unrelated(&o.estimate), nil
}
