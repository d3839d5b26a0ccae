package index

import (
	"context"

	"jianguo/index/verify"
)

// Sweep sweeps now; a service does so at intervals.
func (x *Index) Sweep(ctx context.Context) (int, error) { return sweeper{x.catalogue}.Sweep(ctx) }

// Verify is that of package whole, which the tests of this package cannot import.
func (x *Index) Verify(ctx context.Context) (*verify.Report, error) {
	x.write.Lock()
	defer x.write.Unlock()
	p := x.Probe()
	return verify.Run(ctx, verify.Catalogue{DB: x.reader, Tables: p.Tables, Overlay: p.Overlay, Last: p.Last, Hash: p.Hash, Progress: p.Progress})
}
