package index

import (
	"context"

	"jianguo/index/match"
	"jianguo/index/read"
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

// Probe returns the parts of an Index. A Reload replaces them.
func (x *Index) Probe() Probe {
	return Probe{Tables: x.tables(), Matcher: x.matcher, Reader: x.side.Reader, Outlined: x.outlined, x: x}
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

// Reload drops the resident data and reads the snapshot again. Nothing else may use
// the index meanwhile.
func (p Probe) Reload(ctx context.Context) error {
	t, err := p.x.snapshot.Reload(ctx)
	if err != nil {
		return err
	}
	p.Tables.Close()
	p.x.setTables(t)
	p.x.Reader = read.New(p.x.reader, &p.x.clusters, t)
	return nil
}
