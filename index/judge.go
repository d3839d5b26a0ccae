package index

import (
	"bytes"
	"context"
	"database/sql"
	"errors"

	"github.com/zeebo/xxh3"

	"jianguo/index/match"
	"jianguo/index/resident"
	"jianguo/internal/must"
)

// The functions below that read the catalogue panic on errors (must). They may run beside the writer.

// policyOf returns the policy of a source that is in force; the zero Policy for a normal one.
func (x *catalogue) policyOf(source string) SourcePolicy { return (*x.policies.Load())[source] }

// levelOf returns the level that articles of a source are judged at.
func (x *catalogue) levelOf(source string) *level {
	return x.levels[x.policyOf(source).Strictness]
}

// query is how an article that arrives at a time is judged: never against another version of its id. It also returns
// the latest of these; nil: there is none.
func (x *catalogue) query(ctx context.Context, r *match.Reader, a *Article, at uint32) (q match.Query, prev *version) {
	q = match.Query{Article: a, At: at}
	for i, own := range x.versions(ctx, r, a.ID) {
		if i == 0 {
			prev, q.Except = x.version(ctx, r, own), map[uint32]bool{}
		}
		q.Except[own] = true
	}
	return q, prev
}

// judge judges an article by its text, then applies the policy of its source.
func (x *catalogue) judge(ctx context.Context, r *match.Reader, q match.Query) match.Judgement {
	source := q.Article.Source
	j := must.Get(x.levelOf(source).Judge(ctx, r, q))
	if j.Of == 0 || source == "" || j.Rule == ByBlocked {
		return j
	}
	switch x.policyOf(source).Policy {
	case SourceLicensed:
		if j.Verdict == Duplicate || j.Verdict == Suspect {
			j.Verdict, j.Rule, j.Cluster = Unique, ByLicence, 0
		}
	case SourcePreferred:
		if j.Verdict != Duplicate || j.Rule == BySuspected {
			break
		}
		of, rule := must.Get2(sourceAndRule(ctx, r.DB, j.Of))
		if rule != ByEditor && x.policyOf(of).Policy != SourcePreferred {
			j.Verdict, j.Rule = Unique, ByPreference
		}
	}
	return j
}

// nothingNew reports whether a publish of a known id changes nothing but the revision: it is older than the stored
// version, or has the same content, or an editor has blocked the item.
func (x *catalogue) nothingNew(ctx context.Context, r *match.Reader, prev *version, a *Article) bool {
	known := prev.current.revision
	if a.Revision != 0 && a.Revision <= known {
		return true
	}
	if prev.current.verdict == Withdrawn {
		// Only a higher revision brings a withdrawn item back, and of one that an editor has blocked only an undo.
		return a.Revision <= known || prev.current.rule == ByEditor
	}
	var exact []byte
	must.Do(r.DB.QueryRowContext(ctx, `SELECT exact FROM `+r.Compared+` WHERE ordinal = ?`, prev.ordinal).Scan(&exact))
	return a.Title == prev.title && (a.Blank && exact == nil || bytes.Equal(a.Exact[:], exact))
}

// inheritedCluster returns the cluster that a new version has by its judgement, or from the version before: an accepted
// revision of a lead leads the same cluster. An unrelated text does not: copies of the earlier text are no copies of
// it. 0: its own.
func (x *catalogue) inheritedCluster(
	ctx context.Context, r *match.Reader, prev *version, a *Article, j *match.Judgement,
) uint32 {
	if j.Verdict == Duplicate || j.Rule == ByPreference {
		return j.Cluster
	}
	c, lead := x.clusters.Lead(prev.current.cluster)
	if lead != prev.ordinal || must.Get(x.levelOf(a.Source).UnrelatedTo(ctx, r, a, prev.ordinal)) {
		return j.Cluster
	}
	return c
}

// versions returns the ordinals of all versions of an id, the latest first.
func (x *catalogue) versions(ctx context.Context, r *match.Reader, id string) (own []uint32) {
	for _, ordinal := range x.tables.IDs.Get(nil, xxh3.HashString(id)) {
		stored, err := idOf(ctx, r.DB, ordinal)
		if !errors.Is(err, sql.ErrNoRows) && must.Get(stored, err) == id {
			own = append(own, ordinal)
		}
	}
	return own
}

func (x *catalogue) version(ctx context.Context, r *match.Reader, ordinal uint32) *version {
	v := new(version)
	i := &v.itemRow
	must.Dof(r.DB.QueryRowContext(ctx, `SELECT `+itemColumns+` FROM items WHERE ordinal = ?`, ordinal).
		Scan(i.columns()...), "ordinal %d", ordinal)
	v.flags = x.tables.Rows.Flags(ordinal) &^ resident.Swept
	s := &v.current
	*s = current{i.verdict, i.rule, uint32(i.of.Int64), i.cluster, i.revision, i.seq}
	err := r.DB.QueryRowContext(ctx, `SELECT verdict, rule, coalesce(of, 0), cluster, revision, seq FROM current
		WHERE ordinal = ?`, ordinal).Scan(&s.verdict, &s.rule, &s.of, &s.cluster, &s.revision, &s.seq)
	if !errors.Is(err, sql.ErrNoRows) {
		must.Dof(err, "state of ordinal %d", ordinal)
	}
	return v
}
