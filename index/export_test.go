package index

import (
	"context"

	"jianguo/index/verify"
)

// Verify is that of package whole, which the tests of this package cannot import.
func (x *Index) Verify(ctx context.Context) (*verify.Report, error) {
	x.write.Lock()
	defer x.write.Unlock()
	p := x.Probe()
	return verify.Run(ctx, verify.Catalogue{DB: x.reader, Tables: p.Tables, Overlay: p.Overlay, Last: p.Last, Hash: p.Hash, Progress: p.Progress})
}
