package index

import (
	"context"
	"fmt"
	"time"

	"jianguo/internal/must"
)

// Confirm records the review of a rejection. It changes no verdict: a decision
// releases an item that was rejected by mistake.
func (x *Index) Confirm(ctx context.Context, r Review) error { return x.confirm(ctx, 0, r) }

func (x *Index) confirm(ctx context.Context, seq uint64, r Review) error {
	switch {
	case r.Finding != FoundRight && r.Finding != FoundWrong && r.Finding != FoundUnsure && r.Finding != FoundUndone:
		return fmt.Errorf("finding %q: want right, wrong, unsure or undone: %w", r.Finding, ErrQuery)
	case r.Drawn != DrawnRandom && r.Drawn != DrawnDoubt:
		return fmt.Errorf("drawn %q: want random or doubt: %w", r.Drawn, ErrQuery)
	case r.By == "":
		return fmt.Errorf("by: is missing: %w", ErrQuery)
	}
	if r.At.IsZero() {
		r.At = time.Now()
	}
	x.write.Lock()
	defer x.write.Unlock()
	err := x.apply(ctx, x.orApplied(seq), func(b *batch) {
		v := b.known(r.Item)
		must.Get(x.w.conn.ExecContext(ctx, `INSERT INTO reviews (at, by, ordinal, drawn, finding, reason) VALUES (?,?,?,?,?,?)`,
			millis(r.At), r.By, v.ordinal, r.Drawn, r.Finding, r.Reason))
	})
	if err != nil {
		return fmt.Errorf("index: review of %q: %w", r.Item, err)
	}
	return nil
}
