package index

import (
	"context"

	"jianguo/index/match"
	"jianguo/index/sources"
)

// under returns the level that articles of a source are judged at.
func (x *catalogue) under(source string) *level {
	_, strictness := sources.Parts(x.policies.InForce()[source])
	return x.levels[strictness]
}

// judge judges an article by its text, then applies the policy of its source.
func (x *catalogue) judge(ctx context.Context, r *readers, q match.Query) (match.Judgement, error) {
	j, err := x.under(q.Article.Source).Judge(ctx, &r.Reader, q)
	if err != nil {
		return j, err
	}
	return x.licensed(ctx, r, q.Article.Source, j)
}

// licensed applies the policy of its source to the judgement on an article.
func (x *catalogue) licensed(
	ctx context.Context, r *readers, source string, j match.Judgement,
) (match.Judgement, error) {
	if j.Of == 0 || source == "" || j.Rule == ByBlocked {
		return j, nil
	}
	switch treatment, _ := sources.Parts(x.policies.InForce()[source]); treatment {
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
		treatment, _ := sources.Parts(x.policies.InForce()[source])
		if rule != ByEditor && treatment != SourcePreferred {
			j.Verdict, j.Rule = Unique, ByPreference
		}
	}
	return j, nil
}
