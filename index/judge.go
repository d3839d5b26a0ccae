package index

import (
	"context"

	"jianguo/index/match"
	"jianguo/index/sources"
	"jianguo/internal/must"
)

// under returns the level that articles of a source are judged at.
func (x *catalogue) under(source string) *level {
	_, strictness := sources.Parts(x.policies.InForce()[source])
	return x.levels[strictness]
}

// judge judges an article by its text, then applies the policy of its source. Package must ends it.
func (x *catalogue) judge(ctx context.Context, r *readers, q match.Query) match.Judgement {
	source := q.Article.Source
	j := must.Get(x.under(source).Judge(ctx, &r.Reader, q))
	if j.Of == 0 || source == "" || j.Rule == ByBlocked {
		return j
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
		of, rule := must.Get2(r.standing(ctx, j.Of))
		treatment, _ := sources.Parts(x.policies.InForce()[of])
		if rule != ByEditor && treatment != SourcePreferred {
			j.Verdict, j.Rule = Unique, ByPreference
		}
	}
	return j
}
