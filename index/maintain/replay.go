package maintain

import (
	"context"
	"database/sql"
	"time"

	"jianguo/index"
	"jianguo/index/match"
	"jianguo/index/resident"
	"jianguo/internal/must"
	"jianguo/internal/sqlite"
	"jianguo/internal/wrap"
)

type replay struct {
	index.Probe
	x    *index.Index
	db   *sql.DB
	gone map[uint32]bool // versions that nothing is judged against, by isGone
}

// Replayed is an arrival as it was judged then and as it is judged now.
type Replayed struct {
	Source   string
	Was, Now index.Event
}

// Replay judges what has arrived since a time once more, in the order of arrival, by the
// policy that the Index was opened with: an article that is now accepted is an exemplar for
// those behind it, one that is now rejected is none. Decisions and withdrawals count as if they had
// been there from the start of the replay; what preferred sources took over is taken over again.
//
// It calls each with every arrival, which prepare analyses, or with nil for one that there is nothing to judge of: a
// withdrawal, or a text that was not kept. progress gets how many are judged.
//
// It changes what is resident. Use it on a copy of a catalogue (Copy), and let
// nothing else use that Index.
func Replay(ctx context.Context, x *index.Index, since time.Time, prepare func(*index.Item) *index.Article,
	each func(*Replayed), progress func(done, total int64)) error {
	r := &replay{Probe: x.Probe(), x: x, db: x.Tables(), gone: map[uint32]bool{}}
	return wrap.Err(must.Catch(func() {
		var first uint32
		must.Do(r.db.QueryRowContext(ctx, `SELECT coalesce(min(ordinal), ?) FROM items
			WHERE arrived_at >= ?`, r.Last+1, since.UnixMilli()).Scan(&first))
		for ordinal := first; ordinal <= r.Last; ordinal++ {
			f := r.Rows.Flags(ordinal)
			if r.isGone(ctx, ordinal, f) {
				r.gone[ordinal] = true
			}
			if f&resident.Exemplar != 0 {
				r.setFlags(ctx, ordinal, f&^resident.Exemplar)
			}
		}
		r.restoreLeads(ctx, first)
		for ordinal := first; ordinal <= r.Last; ordinal++ {
			one, err := must.Try(func() *Replayed { return r.judge(ctx, ordinal, prepare) })
			must.Dof(err, "ordinal %d", ordinal)
			each(one)
			progress(int64(ordinal-first+1), int64(r.Last-first+1))
		}
	}), "replay")
}

// isGone reports whether nothing is judged against a version any more: it was withdrawn and not blocked, or superseded,
// and no version of its item leads the cluster. It panics on errors (must).
func (r *replay) isGone(ctx context.Context, ordinal uint32, f resident.Flags) (gone bool) {
	withdrawn := f.Verdict() == index.Withdrawn && f&resident.Blocked == 0
	if !withdrawn && (f&resident.Superseded == 0 || f.Verdict() == index.Duplicate) {
		return false
	}
	lead, _ := r.Clusters.Own(r.Rows.Cluster(ordinal))
	must.Do(r.db.QueryRowContext(ctx, `SELECT NOT EXISTS (SELECT 1 FROM items v JOIN items l ON l.id = v.id
		WHERE v.ordinal = ? AND l.ordinal = ?)`, ordinal, lead).Scan(&gone))
	return gone
}

// restoreLeads makes those versions leads again that arrived before the first one that is judged and lost the lead to
// a preferred source later. It panics on errors (must).
func (r *replay) restoreLeads(ctx context.Context, first uint32) {
	for rows := range sqlite.Rows(ctx, r.db, `SELECT e.ordinal, e.previous, i.cluster FROM events e
		JOIN items i ON i.ordinal = e.of
		WHERE e.cause = ?1 AND e.ordinal < ?2 AND i.ordinal >= ?2
		ORDER BY e.number DESC`, index.CausePromotion, first) {
		var ordinal, cluster uint32
		var previous index.Verdict
		must.Do(rows.Scan(&ordinal, &previous, &cluster))
		r.Rows.SetFlags(ordinal, r.Rows.Flags(ordinal).With(previous))
		r.Rows.SetCluster(ordinal, cluster)
		r.Clusters.Set(cluster, ordinal, 0)
	}
}

// yieldLead gives the lead of a cluster to a version of a preferred source, as the index does.
func (r *replay) yieldLead(ctx context.Context, cluster, ordinal uint32) {
	_, old := r.Clusters.Lead(cluster)
	r.Clusters.Set(cluster, ordinal, 0)
	after := index.Duplicate
	if r.x.SourcePolicies()[must.Get(r.x.Version(ctx, old)).Source].Policy == index.SourceLicensed {
		after = index.Unique
		r.Rows.SetCluster(old, ordinal)
		r.Clusters.Set(ordinal, old, 0)
	}
	r.Rows.SetFlags(old, r.Rows.Flags(old).With(after))
}

// setFlags sets the flags of a version, and its posting by them.
func (r *replay) setFlags(ctx context.Context, ordinal uint32, f resident.Flags) {
	was := r.Rows.Flags(ordinal)
	if (was^f)&resident.Exemplar != 0 {
		p := must.Get(resident.ReadPosting(ctx, r.db, r.Overlay.Compared(), ordinal))
		if f&resident.Exemplar != 0 {
			p.AddTo(r.Bands, ordinal)
		} else if was&resident.Swept == 0 {
			p.RemoveFrom(r.Bands, ordinal)
		}
	}
	r.Rows.SetFlags(ordinal, f&^resident.Swept)
}

// judge judges a version that prepare analyses. It panics on errors (must).
func (r *replay) judge(ctx context.Context, ordinal uint32, prepare func(*index.Item) *index.Article) *Replayed {
	it := must.Get(r.x.Version(ctx, ordinal))
	was := r.Rows.Flags(ordinal)
	decided := was & (resident.Blocked | resident.Exempt)
	if it.Body == nil || it.Event.Verdict == index.Withdrawn {
		r.setFlags(ctx, ordinal, resident.Arrival(it.Event.Verdict, was&resident.Blank != 0)|decided)
		return nil
	}
	q := match.Query{Article: prepare(it), At: uint32(max(it.Arrived.Unix(), 0)), Before: ordinal,
		Except: map[uint32]bool{}}
	for _, own := range r.x.Versions(it.ID) {
		q.Except[own] = true
	}
	now := must.Get(r.Check(ctx, q))
	own, cluster, after := r.Rows.Cluster(ordinal), ordinal, now.Verdict
	switch {
	case r.gone[ordinal] && now.Verdict.Accepted():
		after = index.Withdrawn
		r.Clusters.Set(ordinal, 0, 0)
	case now.Rule == index.ByPreference:
		cluster = now.Cluster
		r.Clusters.Set(ordinal, ordinal, 0)
		r.yieldLead(ctx, cluster, ordinal)
	case now.Verdict == index.Duplicate:
		cluster = now.Cluster
		if own == ordinal {
			r.Clusters.Set(own, own, cluster) // its copies have gone with it
		}
	default:
		r.Clusters.Set(ordinal, ordinal, 0)
	}
	r.Rows.SetCluster(ordinal, cluster)
	f := resident.Arrival(after, q.Article.Blank) | decided
	if now.Rule == index.ByExempt { // nothing is judged against a copy of an exempt text
		f &^= resident.Exemplar
	}
	r.setFlags(ctx, ordinal, f)
	return &Replayed{Source: it.Source, Was: it.Event, Now: now}
}
