package ingest

import (
	"cmp"
	"fmt"
	"slices"

	"jianguo/compare"
	"jianguo/compare/reason"
	"jianguo/index"
	"jianguo/segment"
	"jianguo/simhash"
)

// Explanation shows how a later text, the query, is judged against an earlier
// one, and every number that had a part in it. It is computed from the two
// texts alone: whether other items would have won, or a search would have been
// cut short, it cannot know.
type Explanation struct {
	Query   Side `json:"query"` // the later one, whose margins S is measured with
	Earlier Side `json:"earlier"`

	Verdict index.Verdict  `json:"verdict"`
	Rule    index.Rule     `json:"rule,omitempty"` // the strongest proposal
	Kind    string         `json:"kind"`           // what the judge says: duplicate, suspect, series or unrelated
	Trace   []compare.Step `json:"trace"`          // how it came to that
	Series  bool           `json:"series,omitempty"`
	Facts   *index.Facts   `json:"facts,omitempty"`
	Why     string         `json:"why"`

	Proposals []Proposal `json:"proposals"`

	Distance int     `json:"distance"` // bits, 0…64
	S        float32 `json:"margin"`   // from the query's margins, 0…64

	Resemblance float32          `json:"resemblance"` // on the texts, 0…1
	Estimate    compare.Estimate `json:"estimate"`    // on the sketches

	Recipe string `json:"recipe"`
	Policy string `json:"policy"`
}

// Side is one of the two texts.
type Side struct {
	ID          string `json:"id,omitempty"`
	Title       string `json:"title"`
	Tokens      int    `json:"tokens"` // Han characters, Latin words and figures of the normal form
	Blank       bool   `json:"blank,omitempty"`
	Fingerprint string `json:"fingerprint"`
}

// Proposal is a way in which the index might have proposed the earlier text.
type Proposal struct {
	Rule   index.Rule `json:"rule"`
	Met    bool       `json:"met"`
	Detail string     `json:"detail"`
}

// Explain judges a later item against an earlier one as the policy would.
func Explain(seg *segment.Segmenter, policy index.Policy, language string, later, earlier *Item) *Explanation {
	q, c := Prepare(seg, later), Prepare(seg, earlier)
	x := &Explanation{
		Query: side(q), Earlier: side(c), Distance: simhash.Distance(q.Print.Fingerprint, c.Print.Fingerprint),
		S: q.Print.S(c.Print.Fingerprint), Estimate: q.Sketch.Overlap(&c.Sketch.Outline), Recipe: seg.Recipe(),
		Policy: policy.Hash(),
	}
	j := compare.Judge(compare.NewDoc(&q.Text), compare.NewDoc(&c.Text), &policy.Limits)
	x.Kind, x.Trace, x.Resemblance = j.Kind.String(), j.Trace, j.Resemblance
	x.Facts = reason.Of(&j, func() *reason.Original { return Original(seg, later.Title, later.Body) },
		func() *reason.Original { return Original(seg, earlier.Title, earlier.Body) })
	x.propose(q, c, &policy)
	x.decide(&j, q, c, &policy)
	e := index.Event{Cause: index.CauseIngest, Rule: x.Rule, Distance: &x.Distance, Facts: x.Facts}
	if x.Facts != nil { // else it was not judged: nothing can be said of it
		e.Of = cmp.Or(c.ID, c.Title)
	}
	x.Why = index.Why(&e, language)
	return x
}

func side(a *index.Article) Side {
	return Side{ID: a.ID, Title: a.Title, Tokens: int(a.Sketch.Tokens), Blank: a.Blank,
		Fingerprint: a.Print.Fingerprint.String()}
}

// propose says which proposals would have brought the two together.
func (x *Explanation) propose(q, c *index.Article, p *index.Policy) {
	if q.Blank || c.Blank {
		return
	}
	add := func(rule index.Rule, met bool, format string, args ...any) {
		x.Proposals = append(x.Proposals, Proposal{rule, met, fmt.Sprintf(format, args...)})
	}
	identical := q.Exact == c.Exact
	add(index.ByExact, identical, "%s normal form", map[bool]string{true: "the same", false: "another"}[identical])
	if !q.Print.Empty() && !c.Print.Empty() {
		add(index.ByHamming, x.Distance <= p.Distance, "distance %d, at most %d", x.Distance, p.Distance)
		if p.Rules == index.RulesHamming {
			return
		}
		add(index.ByMargin, x.S < p.MaxS, "S %.2f, below %g, if the search gets there within its budget", x.S,
			p.MaxS)
	}
	shared := func(rule index.Rule, q, c []uint64) {
		both := slices.DeleteFunc(slices.Clone(q), func(key uint64) bool { return !slices.Contains(c, key) })
		if len(q) > 0 {
			add(rule, len(both) > 0, "%d of %d keys shared", len(both), len(q))
		}
	}
	shared(index.BySketch, q.Sketch.Keys(), c.Sketch.Keys())
	shared(index.ByPassage, q.Sketch.PassageKeys(), c.Sketch.PassageKeys())
}

// decide repeats what the index does once it has met the earlier text.
func (x *Explanation) decide(j *compare.Judgement, q, c *index.Article, p *index.Policy) {
	x.Verdict = index.Unique
	i := slices.IndexFunc(x.Proposals, func(m Proposal) bool { return m.Met })
	if i < 0 {
		x.Facts = nil // blank, or the search would not have met the earlier text
		return
	}
	x.Rule = x.Proposals[i].Rule
	switch {
	case x.Rule == index.ByExact && q.Text.Untold(q.Title, c.Title):
		x.Verdict, x.Facts = index.Suspect, &index.Facts{Reason: compare.Headlines}
	case x.Rule == index.ByExact:
		x.Verdict, x.Facts = index.Duplicate, &index.Facts{Reason: compare.Exact}
	case p.Rules == index.RulesHamming:
		x.Verdict, x.Facts = index.Duplicate, &index.Facts{Reason: reason.Distance}
	case j.Kind == compare.Duplicate:
		x.Verdict = index.Duplicate
	case j.Kind == compare.Suspect && p.Suspects == index.SuspectsReject:
		x.Verdict, x.Rule = index.Duplicate, index.BySuspected
	case j.Kind == compare.Suspect:
		x.Verdict = index.Suspect
	case j.Kind == compare.Series:
		x.Series = true
	default:
		x.Rule = index.NoRule
	}
}
