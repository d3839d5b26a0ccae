package match

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"slices"

	"jianguo/index/verdict"
	"jianguo/sketch"
)

// comparison is how an article compares with one exemplar.
type comparison struct {
	ordinal uint32
	s       float32 // the proposal's
	sketch.Comparison
	judgement sketch.Judgement
	noText    bool               // the exemplar's text was not kept
	source    string             // of the exemplar
	residues  [2]*sketch.Residue // of the sources of both texts
	facts     *verdict.Facts     // of the alignment; nil where there is none
}

// comparisons caches the comparisons of one article. The zero value is empty.
type comparisons struct {
	sketches, texts []*comparison
	unrelated       []uint32 // by their outlines; sorted
	// skipUnseen passes over exemplars whose rows cannot be read yet: those of a
	// batch that is being committed.
	skipUnseen bool
}

func recall(known []*comparison, p *Proposal) *comparison {
	for _, c := range known {
		if c.ordinal == p.Ordinal && c.s == p.S {
			return c
		}
	}
	return nil
}

// candidate is a proposal that is being compared.
type candidate struct {
	Proposal
	target
	*comparison
}

// better orders candidates: the best judgement first (duplicate, suspect,
// series), then by resemblance, then by age.
func better(a, b *candidate) int {
	return cmp.Or(cmp.Compare(b.judgement.Kind, a.judgement.Kind), cmp.Compare(b.comparison.Resemblance, a.comparison.Resemblance),
		cmp.Compare(a.lead, b.lead), cmp.Compare(a.Ordinal, b.Ordinal))
}

// likelier orders candidates by how much comparing their texts may show.
func likelier(a, b *candidate) int {
	return cmp.Or(cmp.Compare(b.judgement.Score, a.judgement.Score), cmp.Compare(b.comparison.Resemblance, a.comparison.Resemblance),
		cmp.Compare(a.Ordinal, b.Ordinal))
}

// comparing is one article that is being compared with its proposals.
type comparing struct {
	*Matcher
	reader *Reader
	query  *Query
	known  *comparisons
	text   *sketch.Query // of the article's text; nil until it is needed
	// residue is that of the article's source.
	residue *sketch.Residue
}

// best compares all proposals, every one by its sketch and the most likely ones
// by their texts, and returns the best candidate; nil where none has to do with
// the article.
func (c *comparing) best(ctx context.Context, proposals []Proposal) (*candidate, error) {
	c.residue = c.residueOf(c.query.Article.Source)
	candidates, err := c.compareSketches(ctx, c.candidates(proposals))
	if err != nil || len(candidates) == 0 {
		return nil, err
	}
	slices.SortFunc(candidates, likelier)
	defer func() {
		if c.text != nil {
			c.text.Close()
		}
	}()
	looked, likely := 0, candidates[:min(len(candidates), c.policy.Texts)]
	var beyond []*candidate // the budget of work
	work := 0
	for i, next := range likely {
		// By the sizes in the sketches: what is cached, or known ahead of time, decides nothing.
		if work += next.comparison.TokensA + next.comparison.TokensB; i > 0 && work > c.policy.Work {
			beyond = likely[i:]
			break
		}
		byText, err := c.compareText(ctx, &next.Proposal)
		if err != nil && !errors.Is(err, errUnseen) {
			return nil, err
		}
		if byText != nil {
			next.comparison = byText
			looked = i + 1
		}
		if next.judgement.Kind == sketch.Duplicate {
			break // the likeliest comes first: another could only be a copy of the same
		}
	}
	if looked > 0 {
		// A comparison of texts is not outdone by an estimate.
		candidates = candidates[:looked]
	}
	spares := func(n *candidate) bool { return n.exempt && n.judgement.Kind != sketch.Duplicate }
	if candidates, beyond = slices.DeleteFunc(candidates, spares), slices.DeleteFunc(beyond, func(n *candidate) bool { return n.exempt }); len(candidates) == 0 {
		return nil, nil
	}
	best := slices.MinFunc(candidates, better)
	if best.judgement.Kind == sketch.Unrelated && looked > 0 && len(beyond) > 0 {
		best = estimated(slices.MinFunc(beyond, better))
	}
	if best.judgement.Kind == sketch.Unrelated {
		return nil, nil
	}
	return best, nil
}

// estimated returns a candidate that was judged by its sketch because comparing texts would be
// too much work. It rejects nothing.
func estimated(c *candidate) *candidate {
	if c.judgement.Kind < sketch.Suspect {
		return c
	}
	o := *c.comparison // which is cached
	o.judgement.Kind, o.judgement.Reason = sketch.Suspect, sketch.Estimated
	return &candidate{Proposal: c.Proposal, target: c.target, comparison: &o}
}

// candidates are the proposals that stand for a living cluster, without those
// whose outlines show that they are unrelated.
//
// Nine in ten proposals of a large index are unrelated: their fingerprints are near
// by chance. They take no place among those that are judged, nor among those whose
// texts are compared, so that a verdict does not depend on how many there are. It
// does not depend on what is in memory either: sketches show the same as outlines.
func (c *comparing) candidates(proposals []Proposal) []*candidate {
	outline := c.query.Article.Sketch.Outline()
	known := c.known.unrelated
	unknown := make([]Proposal, 0, len(proposals))
	for _, p := range proposals {
		if _, ok := slices.BinarySearch(known, p.Ordinal); !ok {
			c.rows.Prefetch(p.Ordinal)
			unknown = append(unknown, p)
		}
	}
	var all []*candidate
	for _, p := range unknown {
		if c.unrelated(&outline, p.Ordinal) {
			c.known.unrelated = append(c.known.unrelated, p.Ordinal)
		} else if t, ok := c.Matcher.target(p.Ordinal, c.query); ok {
			all = append(all, &candidate{Proposal: p, target: t})
		}
	}
	slices.Sort(c.known.unrelated)
	return all
}

// unrelated reports whether the outline of an exemplar is in memory and shows that
// comparing texts would find nothing.
func (c *comparing) unrelated(a *sketch.Outline, ordinal uint32) bool {
	o, ok := c.rows.Outline(ordinal)
	if !ok {
		return false
	}
	resemblance, inA, inO := a.Overlap(&o.Minima, o.Shingles)
	return c.policy.Unrelated(resemblance, max(inA, inO))
}

// compareSketches compares candidates by their sketches, the most promising
// first, until as many are judged as the policy allows. It leaves out unrelated
// ones, and those whose rows cannot be read yet.
func (c *comparing) compareSketches(ctx context.Context, candidates []*candidate) ([]*candidate, error) {
	judged := candidates[:0]
	for len(candidates) > 0 && len(judged) < c.policy.Judged {
		next := candidates[:min(len(candidates), c.policy.Judged-len(judged))]
		candidates = candidates[len(next):]
		for _, n := range next {
			var err error
			n.comparison, err = c.compareSketch(ctx, &n.Proposal)
			if errors.Is(err, errUnseen) {
				continue
			}
			if err != nil {
				return nil, err
			}
			if o := n.comparison; !c.policy.Unrelated(o.Resemblance, max(o.ContainedA, o.ContainedB)) {
				judged = append(judged, n)
			}
		}
	}
	return judged, nil
}

// errUnseen says that an exemplar cannot be read yet.
var errUnseen = errors.New("not committed yet")

func (c *comparing) exemplar(ctx context.Context, ordinal uint32, text bool) (*exemplar, error) {
	e, err := c.exemplars.get(ctx, c.reader, ordinal, text)
	if c.known.skipUnseen && errors.Is(err, sql.ErrNoRows) {
		return nil, errUnseen
	}
	return e, err
}

// compareSketch compares the article with a proposal by their sketches.
func (c *comparing) compareSketch(ctx context.Context, p *Proposal) (*comparison, error) {
	if o := recall(c.known.sketches, p); o != nil {
		return o, nil
	}
	e, err := c.exemplar(ctx, p.Ordinal, false)
	if err != nil {
		return nil, err
	}
	o := &comparison{ordinal: p.Ordinal, s: p.S, Comparison: sketch.Compare(&c.query.Article.Sketch, &e.sketch)}
	o.judgement = sketch.Judge(o.Comparison, c.policy.Thresholds)
	c.known.sketches = append(c.known.sketches, o)
	return o, nil
}

// compareText compares the article with a proposal by their texts; nil where one
// of them was not kept.
func (c *comparing) compareText(ctx context.Context, p *Proposal) (*comparison, error) {
	a := c.query.Article
	if c.exemplars.normal == nil || a.Text.Body == "" && a.Text.Title == "" {
		return nil, nil
	}
	o := recall(c.known.texts, p)
	if o == nil || o.residues != [2]*sketch.Residue{c.residue, c.residueOf(o.source)} {
		e, err := c.exemplar(ctx, p.Ordinal, true)
		if err != nil {
			return nil, err
		}
		o = &comparison{ordinal: p.Ordinal, s: p.S, noText: !e.kept, source: e.source, residues: [2]*sketch.Residue{c.residue, c.residueOf(e.source)}}
		if e.kept {
			if c.text == nil {
				in := a.Text
				in.Residue = c.residue
				c.text = new(sketch.NewQuery(in))
			}
			text := e.text
			text.Residue = o.residues[1]
			x, j := c.text.Judge(text, c.policy.Thresholds)
			j = c.policy.Doubt(j, x)
			if o.Comparison, o.judgement = x.Comparison, j; j.Kind != sketch.Unrelated {
				o.facts = verdict.Compared(&j, x)
			}
		}
		c.known.texts = append(slices.DeleteFunc(c.known.texts, func(k *comparison) bool { return k.ordinal == p.Ordinal && k.s == p.S }), o)
	}
	if o.noText {
		return nil, nil
	}
	return o, nil
}

// residueOf is what carries no weight in texts of a source; nil: nothing.
func (c *comparing) residueOf(source string) *sketch.Residue {
	if c.boilerplate == nil {
		return nil
	}
	return c.boilerplate.Of(source).Residue()
}
