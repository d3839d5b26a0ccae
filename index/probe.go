package index

import (
	"context"

	"jianguo/index/match"
	"jianguo/index/reindex"
	"jianguo/index/resident"
	"jianguo/internal/must"
	"jianguo/internal/wrap"
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

func (x *Index) Probe() Probe {
	f := x.recipe.Load()
	return Probe{
		Tables: x.tables, Clusters: &x.clusters, Matcher: x.matcher, InForce: &x.levels[""].Matcher, Reader: &f.Reader,
		Overlay: f.overlay, Last: x.nextOrdinal - 1, Outlined: x.outlined,
		Check: func(ctx context.Context, q match.Query) (Event, error) {
			e, err := must.Try(func() Event { return x.dryRun(ctx, q, nil) })
			return e, wrap.Err(err, "index: check")
		},
	}
}
