package index

import "context"

// Decide applies an editor's decision.
func (x *Index) Decide(ctx context.Context, req DecisionRequest) (*Decision, error) {
	return x.EditNow(ctx, &Edit{Decision: &req})
}

// SetSourcePolicy gives a source a policy.
func (x *Index) SetSourcePolicy(ctx context.Context, p SourcePolicy) error {
	_, err := x.EditNow(ctx, &Edit{Source: &p})
	return err
}

// Sweep sweeps now; a service does so at intervals.
func (x *Index) Sweep(ctx context.Context) (int, error) { return sweeper{x.catalogue}.Sweep(ctx) }
