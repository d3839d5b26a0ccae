package index

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"jianguo/index/match"
)

// readers is what judging reads of the catalogue: on the writer's connection,
// which sees the batch that is being applied, or beside it.
type readers struct {
	*match.Reader
	standingOf, idByOrdinal *sql.Stmt
}

func newReaders(ctx context.Context, db match.Preparer, compared string) (r readers, err error) {
	if r.Reader, err = match.NewReader(ctx, db, compared); err != nil {
		return r, err
	}
	if r.standingOf, err = db.PrepareContext(ctx, `SELECT coalesce(s.name, ''), coalesce(c.rule, i.rule) FROM items i LEFT JOIN sources s ON s.number = i.source
		LEFT JOIN current c ON c.ordinal = i.ordinal WHERE i.ordinal = ?`); err != nil {
		return r, err
	}
	r.idByOrdinal, err = db.PrepareContext(ctx, `SELECT id FROM items WHERE ordinal = ?`)
	return r, err
}

func (r *readers) close() (err error) {
	for _, stmt := range []*sql.Stmt{r.standingOf, r.idByOrdinal} {
		if stmt != nil {
			err = errors.Join(err, stmt.Close())
		}
	}
	if r.Reader != nil {
		err = errors.Join(err, r.Reader.Close())
	}
	return err
}

// standing is the source of a version and the rule that it stands by now.
func (r *readers) standing(ctx context.Context, ordinal uint32) (source string, rule Rule, err error) {
	if err = r.standingOf.QueryRowContext(ctx, ordinal).Scan(&source, &rule); err != nil {
		err = fmt.Errorf("source of ordinal %d: %w", ordinal, err)
	}
	return source, rule, err
}

// judge judges an article by its text, and then by the policy of its source.
func (x *Index) judge(ctx context.Context, r *readers, q match.Query) (match.Judgement, error) {
	j, err := x.matcher.Judge(ctx, r.Reader, q)
	source := q.Article.Source
	if err != nil || j.Of == 0 || source == "" || j.Rule == ByBlocked {
		return j, err
	}
	switch x.sourcePolicyMap()[source] {
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
		if rule != ByEditor && x.sourcePolicyMap()[source] != SourcePreferred {
			j.Verdict, j.Rule = Unique, ByPreference
		}
	}
	return j, nil
}

// Preview does ahead of time what judging an article that arrived at a time will
// need. It changes no verdict, and may run beside the writer and itself. The
// article must then be passed to Add as it is, and to no other Index.
func (x *Index) Preview(ctx context.Context, a *Article, at time.Time) error {
	a.Preview = nil
	err := ctx.Err()
	if err == nil {
		var v *match.Preview
		// database/sql starts a goroutine a query to watch a context that can end;
		// the few rows are read before a caller could cancel.
		if v, err = x.matcher.Preview(context.WithoutCancel(ctx), x.side.Reader, match.Query{Article: a, At: seconds(at)}); v != nil {
			a.Preview = v
		}
	}
	if err != nil {
		return fmt.Errorf("index: preview of %q: %w", a.ID, err)
	}
	return nil
}

// Check returns the verdict that an article would get if it arrived at a time,
// in seconds since 1970. It changes nothing, and runs beside the writer.
func (x *Index) Check(ctx context.Context, a *Article, at uint32) (Event, error) {
	if err := ctx.Err(); err != nil {
		return Event{}, fmt.Errorf("index: check: %w", err)
	}
	ctx = context.WithoutCancel(ctx) // see Preview
	j, err := x.judge(ctx, &x.side, match.Query{Article: a, At: at})
	if err != nil {
		return Event{}, fmt.Errorf("index: check: %w", err)
	}
	e := Event{ID: a.ID, Revision: a.Revision, Verdict: j.Verdict, Cause: CauseIngest, Rule: j.Rule, Cluster: j.Cluster, Series: j.Series,
		Facts: j.Facts, Fingerprint: a.Print.Fingerprint.String(), Recipe: x.recipe, Policy: x.stampHash(x.policyStamp)}
	if j.Of != 0 {
		if err := x.side.idByOrdinal.QueryRowContext(ctx, j.Of).Scan(&e.Of); err != nil {
			return Event{}, fmt.Errorf("index: check: ordinal %d: %w", j.Of, err)
		}
		e.Measure(j.Distance, j.S, j.Resemblance)
	}
	e.Why = Why(&e, x.cfg.Language)
	return e, nil
}
