package index

import (
	"context"

	"jianguo/index/sources"
)

// SourcePolicy is what editors decided about a source.
type SourcePolicy = sources.Policy

// See package sources.
const (
	SourceNormal    = sources.Normal
	SourceLicensed  = sources.Licensed
	SourcePreferred = sources.Preferred
	SourceWatched   = sources.Watched

	PassageLearned = sources.PassageLearned
	PassageIn      = sources.PassageIn
	PassageOut     = sources.PassageOut
)

// StrictnessOfService takes a strictness of its own from a source.
const StrictnessOfService = "service"

// SourcePolicies returns the policies in force, by source; sources that are not in it are normal.
func (x *Index) SourcePolicies(ctx context.Context) (map[string]SourcePolicy, error) {
	return x.policies.All(ctx)
}

// SourcePolicyLog returns the last changes of policies, the newest first.
func (x *Index) SourcePolicyLog(ctx context.Context, limit int) ([]SourcePolicy, error) {
	return x.policies.Last(ctx, limit)
}

// Boilerplate returns what carries no weight in texts of a source, or would without an editor's decision.
func (x *Index) Boilerplate(source string) []Passage {
	return x.boilerplate.Of(source).Passages()
}
