package index

import (
	"context"
	"fmt"
	"slices"
	"time"

	"jianguo/index/match"
	"jianguo/index/resident"
)

// A Trial measures how an index judges pairs. It judges a later article against one
// earlier item and ignores all other items. The others stay indexed, so that the
// search must find the earlier item among them.
//
// A Trial changes the catalogue (see Stand). Use it on a
// temporary index only, and let nothing else use that index.
type Trial struct {
	x *Index
	// hidden are the ordinals that judging ignores: all except the earlier item
	// while a pair is judged.
	hidden  map[uint32]bool
	matcher *match.Matcher
}

// Measured is the result for the later article of a pair.
type Measured struct {
	Verdict Verdict
	Rule    Rule   // how the earlier item was found; NoRule: not related
	Series  bool   // another member of the earlier one's series
	Met     []Rule // how the search met the earlier item; empty: never judged
	Facts   *Facts
}

// Trial begins a trial on what has been added so far.
func (x *Index) Trial() *Trial {
	x.write.Lock()
	defer x.write.Unlock()
	t := &Trial{x: x, hidden: make(map[uint32]bool, x.nextOrdinal), matcher: x.matcher}
	for ordinal := uint32(1); ordinal < x.nextOrdinal; ordinal++ {
		t.hidden[ordinal] = true
	}
	return t
}

// SetPolicy judges by another policy from now on.
func (t *Trial) SetPolicy(p Policy) error {
	if err := p.Validate(); err != nil {
		return err
	}
	t.matcher = t.x.matcher.Under(p)
	return nil
}

// Stand gives an item that was rejected as a copy its own postings, as if it
// had been the first to arrive, and returns its ordinal.
func (t *Trial) Stand(ctx context.Context, id string) (uint32, error) {
	x := t.x
	x.write.Lock()
	defer x.write.Unlock()
	var ordinal uint32
	err := x.apply(ctx, x.applied, func(b *batch) {
		v := b.known(id)
		ordinal = v.ordinal
		if v.flags&resident.Blank != 0 || v.flags&resident.Exemplar != 0 && v.state.cluster == v.ordinal {
			return
		}
		b.leave(v.state.cluster, v.ordinal)
		s := v.state
		s.verdict, s.rule, s.of, s.cluster = Unique, NoRule, 0, v.ordinal
		b.setState(v, v.flags|resident.Exemplar, s)
	})
	if err != nil {
		return 0, fmt.Errorf("index: trial: item %q: %w", id, err)
	}
	return ordinal, nil
}

// Pair judges an article that arrives at a time against the item with an
// ordinal from Stand. Calls must not overlap.
func (t *Trial) Pair(ctx context.Context, a *Article, at time.Time, earlier uint32) (Measured, error) {
	delete(t.hidden, earlier)
	defer func() { t.hidden[earlier] = true }()
	j, err := t.matcher.Judge(ctx, t.x.forms.Load().Reader, match.Query{Article: a, At: seconds(at), Except: t.hidden})
	if err != nil {
		return Measured{}, fmt.Errorf("index: trial: item %q: %w", a.ID, err)
	}
	m := measured(&j)
	if j.Rule == ByExact {
		m.Met = []Rule{ByExact}
		return m, nil
	}
	for _, p := range t.matcher.Propose(a) {
		if p.Ordinal == earlier && !slices.Contains(m.Met, p.Rule) {
			m.Met = append(m.Met, p.Rule)
		}
	}
	return m, nil
}

// Again judges the article with an ordinal once more, by the policy in force now,
// against the versions that arrived before it. The exemplars among these are those
// of the first policy.
func (t *Trial) Again(ctx context.Context, a *Article, at time.Time, ordinal uint32) (Measured, error) {
	j, err := t.matcher.Judge(ctx, t.x.forms.Load().Reader, match.Query{Article: a, At: seconds(at), Before: ordinal})
	if err != nil {
		return Measured{}, fmt.Errorf("index: trial: item %q: %w", a.ID, err)
	}
	return measured(&j), nil
}

func measured(j *match.Judgement) Measured {
	return Measured{Verdict: j.Verdict, Rule: j.Rule, Series: j.Series != 0, Facts: j.Facts}
}
