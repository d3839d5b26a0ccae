package index

import (
	"context"

	"jianguo/index/match"
	"jianguo/index/reindex"
	"jianguo/index/resident"
)

// Probe gives access to the parts of an Index, for benchmarks, tests and replays.
type Probe struct {
	resident.Tables
	Clusters *resident.Clusters
	Matcher  *match.Matcher
	InForce  **match.Matcher // judges what Add adds; Matcher unless a benchmark replaces it
	Reader   *match.Reader   // concurrent with the writer
	Overlay  reindex.Overlay // what versions are compared by
	Last     uint32          // ordinal
	Outlined <-chan struct{} // closed when outlines have been read after a start

	// Check is Index.Check for a query that is not compared with all versions. What is stored of the id is ignored.
	Check func(context.Context, match.Query) (Event, error)
}

// Probe returns the parts of an Index.
func (x *Index) Probe() Probe {
	f := x.forms.Load()
	return Probe{
		Tables: x.tables, Clusters: &x.clusters, Matcher: x.matcher, InForce: &x.levels[""].Matcher, Reader: &f.Reader,
		Overlay: f.overlay, Last: x.nextOrdinal - 1, Outlined: x.outlined, Check: x.checkArrival,
	}
}
