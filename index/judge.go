package index

import (
	"context"

	"jianguo/index/match"
)

// judge judges an article by its text, then applies the policy of its source.
func (x *catalogue) judge(ctx context.Context, r *readers, q match.Query) (match.Judgement, error) {
	j, err := x.matcher.Judge(ctx, r.Reader, q)
	source := q.Article.Source
	if err != nil || j.Of == 0 || source == "" || j.Rule == ByBlocked {
		return j, err
	}
	switch x.policies.InForce()[source] {
	case SourceLicensed:
		if j.Verdict == Duplicate || j.Verdict == Suspect {
			j.Verdict, j.Rule, j.Cluster = Unique, ByLicence, 0
		}
	case SourcePreferred:
		if j.Verdict != Duplicate || j.Rule == BySuspected {
			break
		}
		source, rule, err := r.standing(ctx, j.Of)
		if err != nil {
			return j, err
		}
		if rule != ByEditor && x.policies.InForce()[source] != SourcePreferred {
			j.Verdict, j.Rule = Unique, ByPreference
		}
	}
	return j, nil
}
