package index

import (
	"context"
	"fmt"
	"time"
)

// SourcePolicies returns the policies in force, by source; sources that are
// not in it are normal.
func (x *Index) SourcePolicies(ctx context.Context) (map[string]SourcePolicy, error) {
	return sourceTable{x.catalogue}.sourcePoliciesAt(ctx, -1)
}

// SourcePolicyLog returns the last changes of policies, the newest first.
func (x *Index) SourcePolicyLog(ctx context.Context, limit int) ([]SourcePolicy, error) {
	return sourceTable{x.catalogue}.sourcePolicies(ctx, `ORDER BY number DESC LIMIT ?`, limit)
}

// SetSourcePolicy gives a source a policy, for all messages that are applied
// from now on, and writes it into the sources file. Setting what is in force
// already changes nothing.
func (x *Index) SetSourcePolicy(ctx context.Context, p SourcePolicy) error {
	if p.By == "" {
		return fmt.Errorf("by: is missing: %w", ErrQuery)
	}
	if p.At.IsZero() {
		p.At = time.Now()
	}
	x.write.Lock()
	defer x.write.Unlock()
	if err := (sourceTable{x.catalogue}).setSourcePolicies(ctx, []SourcePolicy{p}); err != nil {
		return fmt.Errorf("index: policy of source %q: %w", p.Source, err)
	}
	if err := (sourceTable{x.catalogue}).writeSources(ctx); err != nil {
		// The catalogue holds it, and the next start brings the file up to date.
		x.log.ErrorContext(ctx, "the policy is in force, but the sources file could not be written", "source", p.Source, "policy", p.Policy, "error", err)
	}
	return nil
}
