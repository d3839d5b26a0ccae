package index

import "context"

// Sweep sweeps now; a service does so at intervals.
func (x *Index) Sweep(ctx context.Context) (int, error) { return sweeper{x.catalogue}.Sweep(ctx) }
