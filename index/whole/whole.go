// Package whole verifies the catalogue of an open index.
package whole

import (
	"context"

	"jianguo/index"
	"jianguo/index/verify"
)

// Index is an index that can be verified.
type Index struct{ *index.Index }

// Verify proves the catalogue whole: the files by SQLite's own check, the
// facts against each other, and what is resident against the facts. No batch is
// applied meanwhile.
func (x Index) Verify(ctx context.Context) (r *verify.Report, err error) {
	p := x.Probe()
	p.Locked(func() {
		p = x.Probe() // as it is now
		r, err = verify.Run(ctx, verify.Catalogue{
			DB: x.View().Tables(), Tables: p.Tables, Overlay: p.Overlay, Last: p.Last, Hash: p.Hash, Progress: p.Progress,
		})
	})
	return r, err
}
