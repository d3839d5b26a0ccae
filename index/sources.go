package index

import (
	"cmp"
	"context"
	"fmt"
	"time"

	"jianguo/index/sources"
	"jianguo/internal/must"
	"jianguo/internal/wrap"
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

// SetSourcePolicy gives a source a policy, for all messages that are applied from now on. An empty strictness
// keeps that of the source. Setting the policy that the source already has changes nothing.
func (x *Index) SetSourcePolicy(ctx context.Context, p SourcePolicy) error {
	return x.setSourcePolicy(ctx, 0, p)
}

func (x *Index) setSourcePolicy(ctx context.Context, seq uint64, p SourcePolicy) error {
	p.At = cmp.Or(p.At, time.Now())
	x.write.Lock()
	defer x.write.Unlock()
	now := cmp.Or(x.policies.InForce()[p.Source], SourceNormal)
	if _, strictness := sources.Parts(now); p.Strictness == "" {
		p.Strictness = strictness
	} else if p.Strictness == StrictnessOfService {
		p.Strictness = ""
	}
	err := p.Validate()
	if err == nil && p.Stored() != now {
		before := x.orApplied(0)
		err = x.apply(ctx, max(seq, before), func(b *batch) { must.Do(sources.Insert(b.ctx, x.w, p, before)) })
		if err == nil {
			x.policies.Use(p)
		}
	}
	return wrap.Err(err, "index: policy of source %q", p.Source)
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
