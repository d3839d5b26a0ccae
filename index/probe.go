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
	Outlined <-chan struct{} // closed when outlines have been read after a start

	x *Index
}

// Probe returns the parts of an Index.
func (x *Index) Probe() Probe {
	return Probe{Tables: x.tables(), Matcher: x.matcher, Reader: x.forms.Load().Reader, Outlined: x.outlined, x: x}
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
