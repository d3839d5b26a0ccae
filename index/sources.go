package index

import (
	"context"
	"slices"

	"jianguo/index/sources"
	"jianguo/internal/must"
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
)

// StrictnessOfService takes a strictness of its own from a source.
const StrictnessOfService = "service"

// SourcePolicies returns the policies in force, by source; sources that are not in it are normal. The caller must not
// change the map.
func (x *Index) SourcePolicies() map[string]SourcePolicy { return *x.policies.Load() }

// SourcePolicyLog returns the last changes of policies, the newest first.
func (x *Index) SourcePolicyLog(ctx context.Context, limit int) ([]SourcePolicy, error) {
	return sources.Last(ctx, x.reader, limit)
}

// DecidedPassages returns the last passages that editors put in or took out, the newest first.
func (x *Index) DecidedPassages(ctx context.Context, limit int) ([]SourcePassage, error) {
	return must.Try(func() (out []SourcePassage) {
		for _, source := range must.Get(x.boilerplate.Decided(ctx)) {
			for _, p := range must.Get(x.Boilerplate(ctx, source)) {
				if p.By != "" {
					out = append(out, SourcePassage{source, p})
				}
			}
		}
		slices.SortFunc(out, func(a, b SourcePassage) int { return b.At.Compare(*a.At) })
		return out[:min(len(out), limit)]
	})
}

// Boilerplate returns what carries no weight in texts of a source, or would without an editor's decision.
func (x *Index) Boilerplate(ctx context.Context, source string) ([]Passage, error) {
	s, err := x.boilerplate.Of(ctx, source)
	return s.Passages(), err
}
