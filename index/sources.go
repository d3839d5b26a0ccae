package index

import (
	"cmp"
	"context"
	"fmt"
	"time"

	"jianguo/index/sources"
)

// SourcePolicy is what editors decided about a source.
type SourcePolicy = sources.Policy

// See package sources.
const (
	SourcesFileName = sources.FileName

	SourceNormal    = sources.Normal
	SourceLicensed  = sources.Licensed
	SourcePreferred = sources.Preferred
	SourceWatched   = sources.Watched

	PassageLearned = sources.PassageLearned
	PassageIn      = sources.PassageIn
	PassageOut     = sources.PassageOut
)

// ParseSources reads a sources file; see package sources.
var ParseSources = sources.Parse

// StrictnessOfService takes a strictness of its own from a source.
const StrictnessOfService = "service"

// SourcePolicies returns the policies in force, by source; sources that are not in it are normal.
func (x *Index) SourcePolicies(ctx context.Context) (map[string]SourcePolicy, error) {
	return x.policies.At(ctx, -1)
}

// SourcePolicyLog returns the last changes of policies, the newest first.
func (x *Index) SourcePolicyLog(ctx context.Context, limit int) ([]SourcePolicy, error) {
	return x.policies.Last(ctx, limit)
}

// SetSourcePolicy gives a source a policy, for all messages that are applied
// from now on, and writes it into the sources file. An empty strictness keeps that of the
// source. Setting the policy that the source already has changes nothing.
func (x *Index) SetSourcePolicy(ctx context.Context, p SourcePolicy) error {
	if p.By == "" {
		return fmt.Errorf("by: is missing: %w", ErrQuery)
	}
	p.At = cmp.Or(p.At, time.Now())
	x.write.Lock()
	defer x.write.Unlock()
	if _, now := sources.Parts(x.policies.InForce()[p.Source]); p.Strictness == "" {
		p.Strictness = now
	} else if p.Strictness == StrictnessOfService {
		p.Strictness = ""
	}
	if err := x.policies.Set(ctx, []SourcePolicy{p}); err != nil {
		return fmt.Errorf("index: policy of source %q: %w", p.Source, err)
	}
	if err := x.policies.WriteFile(ctx); err != nil {
		// The catalogue holds it, and the next start brings the file up to date.
		x.log.ErrorContext(ctx, "the policy is in force, but the sources file could not be written", "source",
			p.Source, "policy", p.Policy, "error", err)
	}
	return nil
}

// Boilerplate returns what carries no weight in texts of a source, or would without an editor's decision.
func (x *Index) Boilerplate(source string) []Passage {
	return x.boilerplate.Of(source).Passages()
}

// DecideBoilerplate puts a passage of a source in or takes it out, for all articles that are judged from now on.
func (x *Index) DecideBoilerplate(ctx context.Context, source string, p Passage) error {
	return x.decideBoilerplate(ctx, 0, source, p)
}

func (x *Index) decideBoilerplate(ctx context.Context, seq uint64, source string, p Passage) error {
	x.write.Lock()
	defer x.write.Unlock()
	s, err := x.boilerplate.Of(source).Decide(source, p, x.cfg.Normal)
	if err == nil {
		err = x.apply(ctx, x.orApplied(seq), func(b *batch) { b.learned[source] = s })
	}
	if err != nil {
		return fmt.Errorf("index: boilerplate of source %q: %w", source, err)
	}
	x.boilerplate.Set(source, s)
	return nil
}
