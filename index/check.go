package index

import (
	"context"
	"fmt"
	"time"

	"jianguo/index/match"
)

// Preview does ahead of time most of the work of judging an article that arrives at
// the given time. It changes no verdict. It may run concurrently with the writer and
// with other calls. Pass the article to Add of the same Index, unchanged.
func (x *Index) Preview(ctx context.Context, a *Article, at time.Time) error {
	a.Preview = nil
	v, err := x.under(a.Source).Preview(ctx, &x.forms.Load().Reader, match.Query{Article: a, At: seconds(at)})
	if v != nil {
		a.Preview = v
	}
	if err != nil {
		return fmt.Errorf("index: preview of %q: %w", a.ID, err)
	}
	return nil
}

// Check returns the verdict that an article would get if it arrived at the given
// time, in seconds since 1970. It changes nothing, and may run concurrently with the
// writer.
func (x *Index) Check(ctx context.Context, a *Article, at uint32) (Event, error) {
	return x.check(ctx, match.Query{Article: a, At: at})
}

func (x *catalogue) check(ctx context.Context, q match.Query) (Event, error) {
	a := q.Article
	f := x.forms.Load()
	j, err := x.judge(ctx, &f.readers, q)
	if err != nil {
		return Event{}, fmt.Errorf("index: check: %w", err)
	}
	e := Event{ID: a.ID, Revision: a.Revision, Verdict: j.Verdict, Cause: CauseIngest, Rule: j.Rule, Cluster: j.Cluster, Series: j.Series,
		Facts: j.Facts, Fingerprint: a.Print.Fingerprint.String(), Recipe: f.recipe, Policy: x.stampHash(x.under(a.Source).stamp)}
	if j.Of != 0 {
		if e.Of, err = f.id(ctx, j.Of); err != nil {
			return Event{}, fmt.Errorf("index: check: %w", err)
		}
		e.Measure(j.Distance, j.S, j.Resemblance)
	}
	e.Why = Why(&e, x.cfg.Language)
	return e, nil
}
