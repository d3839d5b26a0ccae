package eval

import (
	"context"
	"fmt"
	"slices"
	"time"

	"jianguo/index"
	"jianguo/index/match"
)

// trial measures how an index judges pairs. It judges a later article against one
// earlier item and ignores all other items. The others stay indexed, so that the
// search must find the earlier item among them.
//
// A trial changes the catalogue: the earlier item of a pair is released if it was rejected
// itself. It is for a temporary index that
// nothing else uses.
type trial struct {
	index *index.Index
	probe index.Probe
	// hidden are the ordinals that judging ignores: all except the earlier item
	// while a pair is judged.
	hidden  map[uint32]bool
	matcher *match.Matcher
}

// measured is the result for the later article of a pair.
type measured struct {
	Verdict index.Verdict
	Rule    index.Rule   // how the earlier item was found; NoRule: not related
	Series  bool         // another member of the earlier one's series
	Met     []index.Rule // how the search met the earlier item; empty: never judged
	Facts   *index.Facts
}

// newTrial begins a trial on what has been added so far.
func newTrial(x *index.Index) *trial {
	p := x.Probe()
	t := &trial{index: x, probe: p, hidden: make(map[uint32]bool, p.Last), matcher: p.Matcher}
	for ordinal := uint32(1); ordinal <= p.Last; ordinal++ {
		t.hidden[ordinal] = true
	}
	return t
}

// stand gives an item that was rejected as a copy its own postings, as if it had been the first
// to arrive, and returns its ordinal.
func (t *trial) stand(ctx context.Context, id string) (ordinal uint32, err error) {
	it, err := t.index.Item(ctx, id)
	if err != nil {
		return 0, err
	}
	if it.Event.Verdict == index.Duplicate {
		if _, err := t.index.Decide(ctx, index.DecisionRequest{Kind: index.Release, Item: id, By: "eval"}); err != nil {
			return 0, err
		}
	}
	return slices.Max(t.index.View().Versions(id)), nil
}

// setPolicy judges by another policy from now on.
func (t *trial) setPolicy(p index.Policy) error {
	if err := p.Validate(); err != nil {
		return err
	}
	t.matcher = t.probe.Matcher.Under(p)
	return nil
}

// pair judges an article that arrives at a time against the item with an
// ordinal from stand. Calls must not overlap.
func (t *trial) pair(ctx context.Context, a *index.Article, at time.Time, earlier uint32) (measured, error) {
	delete(t.hidden, earlier)
	defer func() { t.hidden[earlier] = true }()
	m, err := t.judge(ctx, match.Query{Article: a, At: uint32(at.Unix()), Except: t.hidden})
	if err != nil || m.Rule == index.ByExact {
		m.Met = []index.Rule{index.ByExact}
		return m, err
	}
	for _, p := range t.matcher.Propose(a) {
		if p.Ordinal == earlier && !slices.Contains(m.Met, p.Rule) {
			m.Met = append(m.Met, p.Rule)
		}
	}
	return m, nil
}

// again judges the article with an ordinal once more, by the policy in force now,
// against the versions that arrived before it. The exemplars among these are those
// of the first policy.
func (t *trial) again(ctx context.Context, a *index.Article, at time.Time, ordinal uint32) (measured, error) {
	return t.judge(ctx, match.Query{Article: a, At: uint32(at.Unix()), Before: ordinal})
}

func (t *trial) judge(ctx context.Context, q match.Query) (measured, error) {
	j, err := t.matcher.Judge(ctx, t.probe.Reader, q)
	if err != nil {
		return measured{}, fmt.Errorf("eval: trial: item %q: %w", q.Article.ID, err)
	}
	return measured{Verdict: j.Verdict, Rule: j.Rule, Series: j.Series != 0, Facts: j.Facts}, nil
}
