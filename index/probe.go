package index

import (
	"context"

	"jianguo/index/match"
	"jianguo/index/resident"
)

// Probe gives access to the parts of an Index, for benchmarks and tests.
type Probe struct {
	resident.Tables
	Matcher  *match.Matcher
	Reader   *match.Reader   // concurrent with the writer
	Last     uint32          // ordinal
	Outlined <-chan struct{} // closed when outlines have been read after a start

	x *Index
}

// Probe returns the parts of an Index.
func (x *Index) Probe() Probe {
	return Probe{Tables: x.tables(), Matcher: x.matcher, Reader: x.forms.Load().Reader, Last: x.nextOrdinal - 1, Outlined: x.outlined, x: x}
}

// Insert is Add without comparing texts: only an equal normal form or fingerprint makes a
// copy. It serves to measure the cost of storing an item durably. Nothing else may use the index.
func (p Probe) Insert(ctx context.Context, mutations []Mutation) error {
	exact := p.x.policy
	exact.Rules, exact.Distance = RulesHamming, 0
	p.x.levels[""].Matcher = p.Matcher.Under(exact)
	_, err := p.x.Add(ctx, mutations)
	p.x.levels[""].Matcher = p.Matcher
	return err
}

// Stand gives an item that was rejected as a copy its own postings, as if it had been the first to
// arrive, and returns its ordinal. It changes the catalogue.
func (p Probe) Stand(ctx context.Context, id string) (ordinal uint32, err error) {
	p.x.write.Lock()
	defer p.x.write.Unlock()
	err = p.x.apply(ctx, p.x.applied, func(b *batch) {
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
	return ordinal, err
}
