package index

import (
	"context"
	"fmt"

	"jianguo/index/match"
	"jianguo/index/sources"
	"jianguo/internal/must"
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

// MaxTogether bounds how many items one decision may be about.
const MaxTogether = 2000

// together decides about several items as one: with one entry in the log, one
// undo, and an event for each.
func (d *decision) together() {
	one := d.release
	switch {
	case d.req.Kind == Reject:
		one = d.reject
	case d.req.Kind != Release:
		must.Do(fmt.Errorf("items: only %s and %s can be about several: %w", Release, Reject, ErrQuery))
	case d.req.Item != "":
		must.Do(fmt.Errorf("items: want either these or item: %w", ErrQuery))
	case len(d.req.Items) > MaxTogether:
		must.Do(fmt.Errorf("items: there are %d, at most %d can be decided about together: %w",
			len(d.req.Items), MaxTogether, ErrQuery))
	}
	var cluster uint32
	var into uint64
	twice := map[string]bool{}
	for _, it := range d.req.Items {
		if twice[it.Item] {
			must.Do(fmt.Errorf("items: %q is there twice: %w", it.Item, ErrQuery))
		}
		twice[it.Item] = true
		d.req.Item, d.req.Seen = it.Item, it.Seen
		v := d.current()
		if cluster == 0 {
			if cluster = d.familyCluster(v); v.state.verdict == Duplicate {
				cluster = d.cluster
			}
		}
		one()
		d.items = append(d.items, d.item)
		if len(d.items) == 1 {
			into = d.other
		} else if d.other != into {
			into = 0
		}
	}
	// The log speaks of the first, and of the cluster that all of them are like.
	d.req.Item, d.item, d.cluster, d.other = d.req.Items[0].Item, d.items[0], cluster, into
}
