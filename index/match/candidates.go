package match

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"slices"

	"jianguo/compare"
	"jianguo/compare/reason"
	"jianguo/index/resident"
	"jianguo/index/verdict"
	"jianguo/simhash"
)

// comparison is how an article compares with one exemplar.
type comparison struct {
	tokens   int // of both
	estimate compare.Estimate

	// What follows is nil until the texts were compared.
	judgement *compare.Judgement
	residues  [2]*compare.Residue // of the sources of both texts
	source    string              // of the exemplar
	facts     *reason.Facts       // nil until it is known to be the best
}

// candidate is a proposal that is being compared.
type candidate struct {
	Proposal
	target
	*comparison
}

// kind is what comparing the texts has come to.
func (c *candidate) kind() compare.Kind {
	if c.judgement == nil {
		return compare.Unrelated
	}
	return c.judgement.Kind
}

// better orders candidates: the best judgement first (duplicate, suspect, series), then by how much of the article
// they have, then by age.
func better(a, b *candidate) int {
	return cmp.Or(cmp.Compare(b.kind(), a.kind()), cmp.Compare(b.judgement.Later.Covered, a.judgement.Later.Covered),
		cmp.Compare(a.lead, b.lead), cmp.Compare(a.Ordinal, b.Ordinal))
}

// likelier orders candidates by how much comparing their texts may show.
func likelier(a, b *candidate) int {
	return cmp.Or(cmp.Compare(b.estimate.Resemblance, a.estimate.Resemblance), cmp.Compare(a.Ordinal, b.Ordinal))
}

// comparing is one article that is being compared with its proposals.
type comparing struct {
	*Matcher
	reader *Reader
	query  *Query
	known  map[uint32]*comparison // by ordinal: those of Comparisons, and those that are made
	// ahead passes over exemplars whose rows cannot be read yet: those of a batch that is being committed.
	ahead   bool
	doc     *compare.Doc     // of the article; nil until it is needed
	residue *compare.Residue // of its source

	onSketches, onTexts int          // exemplars that it was compared with on sketches, and on texts
	tokens              int          // of the pairs that were compared on texts
	compared            []*candidate // on texts
}

// best compares all proposals, every one by its sketch and the likeliest ones by their texts, and returns the best
// candidate; nil where none has to do with the article.
func (c *comparing) best(ctx context.Context, proposals []Proposal) (*candidate, error) {
	var err error
	if c.residue, err = c.Boilerplate.Residue(ctx, c.query.Article.Source); err != nil {
		return nil, err
	}
	candidates, err := c.compareSketches(ctx, c.candidates(proposals))
	if err != nil || len(candidates) == 0 {
		return nil, err
	}
	slices.SortFunc(candidates, likelier)
	beyond := candidates[:0]
	for i, next := range candidates[:min(len(candidates), c.policy.Texts)] {
		// By the sizes in the sketches: what is cached, or known ahead of time, decides nothing.
		if c.tokens+next.tokens > c.policy.Work {
			beyond = candidates[i:]
			break
		}
		c.tokens += next.tokens
		if err := cmp.Or(ctx.Err(), c.compareText(ctx, next)); c.uncommitted(err) {
			continue
		} else if err != nil {
			return nil, err
		}
		if next.judgement == nil || next.exempt && next.kind() != compare.Duplicate {
			continue
		}
		c.compared = append(c.compared, next)
		if next.kind() == compare.Duplicate {
			break // the likeliest comes first: another could only be a copy of the same
		}
	}
	if len(c.compared) > 0 {
		if best := slices.MinFunc(c.compared, better); best.kind() != compare.Unrelated {
			return best, c.makeFacts(ctx, best)
		}
	}
	for _, next := range beyond {
		if e := &next.estimate; !next.exempt && float64(max(e.Later, e.Earlier)) >= c.policy.Limits.Later {
			// A comparison of the texts ahead of time does not count: in its turn there is none.
			next.comparison = &comparison{tokens: next.tokens, estimate: next.estimate}
			return next, c.makeFacts(ctx, next)
		}
	}
	return nil, nil
}

// tied are the clusters of the best candidate, or if there is none of the most alike that tells of the same matter,
// and of others that do. There are none if the best one tells of another matter. Others do not count if they share a
// different part of the article, which is a round-up then, or if they are one, most of which is not in the article.
func (c *comparing) tied(best *candidate) (clusters []uint32) {
	tell := slices.DeleteFunc(slices.Clone(c.compared), func(o *candidate) bool {
		return o != best && o.blocked || !o.judgement.OneMatter()
	})
	if best == nil && len(tell) > 0 {
		best = slices.MinFunc(tell, better)
	}
	if !slices.Contains(tell, best) {
		return nil
	}
	clusters = append(clusters, best.cluster)
	for _, o := range tell {
		if o != best && (o.kind() == compare.Unrelated || float64(o.judgement.Earlier.Covered) >=
			c.policy.Limits.Earlier) && compare.SameMatter(best.judgement.Alignment, o.judgement.Alignment) {
			clusters = append(clusters, o.cluster)
		}
	}
	slices.Sort(clusters[1:])
	return clusters
}

func (c *comparing) makeFacts(ctx context.Context, best *candidate) (err error) {
	if best.judgement == nil {
		best.facts = &reason.Facts{Reason: compare.TooLong}
		return nil
	}
	if best.facts != nil {
		return nil
	}
	later := func() *reason.Original {
		body, unpacking := verdict.UnpackText(c.query.Article.Packed)
		err = unpacking
		return c.Original(c.query.Article.Title, body)
	}
	earlier := func() *reason.Original {
		text, reading := c.reader.readText(ctx, best.Ordinal)
		err = cmp.Or(err, reading)
		return c.Original(text.title, text.body)
	}
	facts := reason.Of(best.judgement, later, earlier)
	if c.uncommitted(err) {
		return nil // they are made in its turn
	}
	best.facts = facts
	return err
}

// candidates are the proposals that stand for a living cluster, without those
// whose outlines show that they are unrelated.
//
// Unrelated ones take no place among those that are judged, nor among those whose
// texts are compared, so that a verdict does not depend on how many there are. It
// does not depend on what is in memory either: sketches show the same as outlines.
func (c *comparing) candidates(proposals []Proposal) []*candidate {
	outline := &c.query.Article.Sketch.Outline
	for _, p := range proposals {
		c.Rows.Prefetch(p.Ordinal)
	}
	var all []*candidate
	for _, p := range proposals {
		if c.unrelated(outline, p.Ordinal) {
			c.onSketches++
		} else if t, ok := c.Matcher.target(p.Ordinal, c.query); ok {
			all = append(all, &candidate{Proposal: p, target: t})
		}
	}
	return all
}

// unrelated reports whether the outline of an exemplar is in memory and shows that
// comparing texts would find nothing.
func (c *comparing) unrelated(a *compare.Outline, ordinal uint32) bool {
	o, ok := c.Rows.Outline(ordinal)
	if !ok {
		return false
	}
	e := a.Overlap(&o)
	return c.policy.Unrelated(&e)
}

// compareSketches compares candidates by their sketches, the most promising
// first, until as many are judged as the policy allows. It leaves out unrelated
// ones, and those whose rows cannot be read yet.
func (c *comparing) compareSketches(ctx context.Context, candidates []*candidate) ([]*candidate, error) {
	judged := candidates[:0]
	for _, n := range candidates {
		if len(judged) == c.policy.Judged {
			break
		}
		var err error
		n.comparison, err = c.compareSketch(ctx, &n.Proposal)
		if c.uncommitted(err) {
			continue
		}
		if err != nil {
			return nil, err
		}
		if !c.policy.Unrelated(&n.estimate) {
			judged = append(judged, n)
		}
	}
	return judged, nil
}

// uncommitted reports whether an error says that an exemplar is not committed yet.
func (c *comparing) uncommitted(err error) bool { return c.ahead && errors.Is(err, sql.ErrNoRows) }

func (c *comparing) compareSketch(ctx context.Context, p *Proposal) (*comparison, error) {
	c.onSketches++
	if o := c.known[p.Ordinal]; o != nil {
		return o, nil
	}
	s, err := c.exemplars.sketch(ctx, c.reader, p.Ordinal)
	if err != nil {
		return nil, err
	}
	a := &c.query.Article.Sketch
	o := &comparison{tokens: int(a.Tokens) + int(s.Tokens), estimate: a.Overlap(&s.Outline)}
	c.known[p.Ordinal] = o
	return o, nil
}

func (c *comparing) compareText(ctx context.Context, n *candidate) error {
	c.onTexts++
	o := n.comparison
	if o.judgement != nil {
		residue, err := c.Boilerplate.Residue(ctx, o.source)
		if err != nil || o.residues == [2]*compare.Residue{c.residue, residue} {
			return err
		}
	}
	doc, source, err := c.exemplars.doc(ctx, c.reader, n.Ordinal)
	if err != nil || doc == nil {
		return err
	}
	if c.doc == nil {
		text := c.query.Article.Text
		text.Learned = c.residue
		c.doc = compare.NewDoc(&text)
	}
	j := compare.Judge(c.doc, doc, &c.policy.Limits)
	o.judgement, o.source, o.residues, o.facts = &j, source, [2]*compare.Residue{c.residue, doc.Text.Learned}, nil
	return nil
}

// Adds is how many characters one exemplar adds to another one, at least one; -1: a text of the two is not kept.
func (m *Matcher) Adds(ctx context.Context, r *Reader, later, earlier uint32) (int, error) {
	var docs [2]*compare.Doc
	for i, ordinal := range []uint32{later, earlier} {
		var err error
		docs[i], _, err = m.exemplars.doc(ctx, r, ordinal)
		if err != nil || docs[i] == nil {
			return -1, err
		}
	}
	return max(1, compare.Adds(docs[0], docs[1])), nil
}

// UnrelatedTo reports whether an article has nothing to do with an earlier version of its id: one of the two is blank,
// or comparing their texts would find nothing; by the textbook rule, if it is no copy.
func (m *Matcher) UnrelatedTo(ctx context.Context, r *Reader, a *verdict.Article, ordinal uint32) (bool, error) {
	s, err := m.exemplars.sketch(ctx, r, ordinal)
	if errors.Is(err, sql.ErrNoRows) {
		return true, nil // blank
	}
	if err != nil || a.Blank {
		return true, err
	}
	if m.policy.Rules == verdict.RulesHamming {
		p, err := resident.ReadPosting(ctx, r.DB, r.Compared, ordinal)
		return simhash.Distance(p.Fingerprint, a.Print.Fingerprint) > m.policy.Distance, err
	}
	e := a.Sketch.Overlap(&s.Outline)
	return m.policy.Unrelated(&e), nil
}
