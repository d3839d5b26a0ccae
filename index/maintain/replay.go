package maintain

import (
	"context"
	"database/sql"
	"fmt"
	"time"

	"jianguo/index"
	"jianguo/index/match"
	"jianguo/index/resident"
	"jianguo/index/sources"
	"jianguo/internal/must"
	"jianguo/internal/sqlite"
)

// A Replay judges what has arrived since a time once more, in the order of arrival, by the
// policy that the Index was opened with: an article that is now accepted is an exemplar for
// those behind it, one that is now rejected is none. Decisions and withdrawals count as if they had
// been there from the start of the replay; what preferred sources took over is taken over again.
//
// A Replay changes what is resident. Use it on a copy of a catalogue (Copy), and let
// nothing else use that Index.
type Replay struct {
	index.Probe
	x          *index.Index
	db         *sql.DB
	policies   map[string]index.SourcePolicy
	next, last uint32
}

// Replayed is an arrival as it was judged then and as it is judged now.
type Replayed struct {
	Source   string
	Was, Now index.Event
}

// NewReplay begins a replay.
func NewReplay(ctx context.Context, x *index.Index, since time.Time) (*Replay, error) {
	r := &Replay{Probe: x.Probe(), x: x, db: x.Tables()}
	r.last = r.Last
	err := must.Catch(func() {
		r.policies = must.Get(x.SourcePolicies(ctx))
		must.Do(r.db.QueryRowContext(ctx, `SELECT coalesce(min(ordinal), ?) FROM items
			WHERE arrived_at >= ?`, r.last+1, since.UnixMilli()).Scan(&r.next))
		first := r.next
		for ordinal := first; ordinal <= r.last; ordinal++ {
			if f := r.Rows.Flags(ordinal); f&resident.Exemplar != 0 {
				r.expose(ctx, ordinal, f&^resident.Exemplar)
			}
		}
		must.Do(r.giveBack(ctx, first))
	})
	if err != nil {
		return nil, fmt.Errorf("replay: %w", err)
	}
	return r, nil
}

// giveBack makes those versions leads again that arrived before the first one and lost the lead to
// a preferred source later.
func (r *Replay) giveBack(ctx context.Context, first uint32) error {
	return sqlite.Each(ctx, r.db, `SELECT e.ordinal, e.previous, i.cluster FROM events e
		JOIN items i ON i.ordinal = e.of
		WHERE e.cause = ?1 AND e.ordinal < ?2 AND i.ordinal >= ?2 ORDER BY e.number DESC`, func(rows *sql.Rows) error {
		var ordinal, cluster uint32
		var previous index.Verdict
		err := rows.Scan(&ordinal, &previous, &cluster)
		r.Rows.SetFlags(ordinal, r.Rows.Flags(ordinal).With(previous))
		r.Rows.SetCluster(ordinal, cluster)
		r.Clusters.Set(cluster, ordinal, 0)
		return err
	}, index.CausePromotion, first)
}

// yield gives the lead of a cluster to a version of a preferred source, as the index does.
func (r *Replay) yield(ctx context.Context, cluster, ordinal uint32) {
	_, old := r.Clusters.Lead(cluster)
	r.Clusters.Set(cluster, ordinal, 0)
	after := index.Duplicate
	if r.policies[r.version(ctx, old).Source].Policy == sources.Licensed {
		after = index.Unique
		r.Rows.SetCluster(old, ordinal)
		r.Clusters.Set(ordinal, old, 0)
	}
	r.Rows.SetFlags(old, r.Rows.Flags(old).With(after))
}

// expose sets the flags of a version, and its posting by them.
func (r *Replay) expose(ctx context.Context, ordinal uint32, f resident.Flags) {
	was := r.Rows.Flags(ordinal)
	if (was^f)&resident.Exemplar != 0 {
		p := must.Get(resident.ReadPosting(ctx, r.db, r.Overlay.Compared(), ordinal))
		if f&resident.Exemplar != 0 {
			r.Matcher.Post(ordinal, p)
		} else if was&resident.Swept == 0 {
			r.Matcher.Unpost(ordinal, p)
		}
	}
	r.Rows.SetFlags(ordinal, f&^resident.Swept)
}

// Remaining is the number of versions that have not been judged.
func (r *Replay) Remaining() int { return int(r.last+1) - int(r.next) }

// Each judges all that remain, and calls each with them. progress is told how many are judged.
func (r *Replay) Each(ctx context.Context, prepare func(*index.Item) *index.Article, each func(*Replayed),
	progress func(done, total int64)) error {
	for all := r.Remaining(); r.Remaining() > 0; {
		if err := ctx.Err(); err != nil {
			return err
		}
		one, err := r.Next(ctx, prepare)
		if err != nil {
			return err
		}
		each(one)
		progress(int64(all-r.Remaining()), int64(all))
	}
	return nil
}

// Next judges the next version, which prepare analyses. It returns nil for one that there is
// nothing to judge of: a withdrawal, or a text that was not kept.
func (r *Replay) Next(ctx context.Context, prepare func(*index.Item) *index.Article) (out *Replayed, err error) {
	ordinal := r.next
	r.next++
	err = must.Catch(func() { out = r.judge(ctx, ordinal, prepare) })
	if err != nil {
		return nil, fmt.Errorf("replay of ordinal %d: %w", ordinal, err)
	}
	return out, nil
}

func (r *Replay) judge(ctx context.Context, ordinal uint32, prepare func(*index.Item) *index.Article) *Replayed {
	it := r.version(ctx, ordinal)
	blocked := r.Rows.Flags(ordinal) & resident.Blocked
	if it.Body == nil || it.Event.Verdict == index.Withdrawn {
		r.expose(ctx, ordinal, resident.Arrival(it.Event.Verdict, it.blank)|blocked)
		return nil
	}
	q := match.Query{Article: prepare(&it.Item), At: uint32(max(it.Arrived.Unix(), 0)), Before: ordinal,
		Except: map[uint32]bool{}}
	for _, own := range r.x.Versions(it.ID) {
		q.Except[own] = true
	}
	now := must.Get(r.Check(ctx, q))
	own, cluster := r.Rows.Cluster(ordinal), ordinal
	switch {
	case now.Rule == index.ByPreference:
		cluster = now.Cluster
		r.Clusters.Set(ordinal, ordinal, 0)
		r.yield(ctx, cluster, ordinal)
	case now.Verdict == index.Duplicate:
		cluster = now.Cluster
		if own == ordinal {
			r.Clusters.Set(own, own, cluster) // its copies have gone with it
		}
	default:
		r.Clusters.Set(ordinal, ordinal, 0)
	}
	r.Rows.SetCluster(ordinal, cluster)
	r.expose(ctx, ordinal, resident.Arrival(now.Verdict, q.Article.Blank)|blocked)
	return &Replayed{Source: it.Source, Was: it.Event, Now: now}
}

// version is a version as it arrived; Event is the verdict that it got.
type version struct {
	index.Item
	blank bool
}

func (r *Replay) version(ctx context.Context, ordinal uint32) *version {
	var v version
	var first uint64
	var arrived int64
	var published sql.NullInt64
	must.Do(r.db.QueryRowContext(ctx, `SELECT i.id, i.title, coalesce(s.name, ''), i.arrived_at, i.published_at,
		i.exact IS NULL, i.event
		FROM items i LEFT JOIN sources s ON s.number = i.source WHERE i.ordinal = ?`, ordinal).
		Scan(&v.ID, &v.Title, &v.Source, &arrived, &published, &v.blank, &first))
	v.Arrived = time.UnixMilli(arrived).UTC()
	if published.Valid {
		at := time.UnixMilli(published.Int64).UTC()
		v.Published = &at
	}
	v.Body = must.Get(r.x.Text(ctx, ordinal))
	v.Event = must.Get(r.x.Events(ctx, first-1, 1))[0]
	return &v
}
