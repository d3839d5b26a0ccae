package index

import (
	"context"
	"fmt"

	"jianguo/index/verify"
)

// Report is what Verify found.
type Report = verify.Report

// Verify proves the catalogue whole: the files by SQLite's own check, the
// facts against each other, and what is resident against the facts. No batch is
// applied meanwhile.
func (x *Index) Verify(ctx context.Context) (*Report, error) {
	x.write.Lock()
	defer x.write.Unlock()
	r, err := verify.Run(ctx, verify.Catalogue{
		DB: x.reader, Tables: x.tables(), Overlay: x.forms.Load().overlay, Last: x.nextOrdinal - 1, Hash: x.stampHash, Progress: x.cfg.Progress,
	})
	if err != nil {
		return nil, fmt.Errorf("index: %w", err)
	}
	return r, nil
}
