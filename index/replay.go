package index

import (
	"context"
	"database/sql"
	"fmt"
	"time"

	"jianguo/index/match"
	"jianguo/index/resident"
	"jianguo/index/sources"
	"jianguo/internal/must"
)

// A Replay judges what has arrived since a time once more, in the order of arrival, by the
// policy that the Index was opened with: an article that is now accepted is an exemplar for
// those behind it, one that is now rejected is none. Decisions and withdrawals count as if they had
// been there from the start of the replay; what preferred sources took over is taken over again.
//
// A Replay changes what is resident. Use it on a copy of a catalogue (Backup), and let nothing
// else use that Index.
type Replay struct {
	x          *catalogue
	next, last uint32
}

// Replayed is an arrival as it was judged then and as it is judged now.
type Replayed struct {
	Source   string
	Was, Now Event
}

// Replay begins a replay.
func (x *Index) Replay(ctx context.Context, since time.Time) (r *Replay, err error) {
	err = must.Catch(func() {
		var first uint32
		must.Do(x.reader.QueryRowContext(ctx, `SELECT coalesce(min(ordinal), ?) FROM items WHERE arrived_at >= ?`, x.nextOrdinal, millis(since)).Scan(&first))
		r = &Replay{x.catalogue, first, x.nextOrdinal - 1}
		for ordinal := first; ordinal <= r.last; ordinal++ {
			if f := x.rows.Flags(ordinal); f&resident.Exemplar != 0 {
				r.expose(ctx, ordinal, f&^resident.Exemplar)
			}
		}
		must.Do(r.giveBack(ctx, first))
	})
	if err != nil {
		return nil, fmt.Errorf("index: replay: %w", err)
	}
	return r, nil
}

// giveBack makes those versions leads again that arrived before the first one and lost the lead to
// a preferred source later.
func (r *Replay) giveBack(ctx context.Context, first uint32) error {
	return each(ctx, r.x.reader, `SELECT e.ordinal, e.previous, i.cluster FROM events e JOIN items i ON i.ordinal = e.of
		WHERE e.cause = ?1 AND e.ordinal < ?2 AND i.ordinal >= ?2 ORDER BY e.number DESC`, func(rows *sql.Rows) error {
		var ordinal, cluster uint32
		var previous Verdict
		err := rows.Scan(&ordinal, &previous, &cluster)
		r.x.rows.SetFlags(ordinal, r.x.rows.Flags(ordinal).With(previous))
		r.x.rows.SetCluster(ordinal, cluster)
		r.x.clusters.Set(cluster, ordinal, 0)
		return err
	}, CausePromotion, first)
}

// yield gives the lead of a cluster to a version of a preferred source (see batch.takeOver).
func (r *Replay) yield(ctx context.Context, cluster, ordinal uint32) {
	x := r.x
	_, old := x.clusters.Lead(cluster)
	source, _, err := x.w.standing(ctx, old)
	must.Do(err)
	x.clusters.Set(cluster, ordinal, 0)
	after := Duplicate
	if treatment, _ := sources.Parts(x.policies.InForce()[source]); treatment == SourceLicensed {
		after = Unique
		x.rows.SetCluster(old, ordinal)
		x.clusters.Set(ordinal, old, 0)
	}
	x.rows.SetFlags(old, x.rows.Flags(old).With(after))
}

// expose sets the flags of a version, and its posting by them.
func (r *Replay) expose(ctx context.Context, ordinal uint32, f resident.Flags) {
	was := r.x.rows.Flags(ordinal)
	if (was^f)&resident.Exemplar != 0 {
		p := must.Get(r.x.readPosting(ctx, ordinal))
		if f&resident.Exemplar != 0 {
			r.x.matcher.Post(ordinal, p)
		} else if was&resident.Swept == 0 {
			r.x.matcher.Unpost(ordinal, p)
		}
	}
	r.x.rows.SetFlags(ordinal, f&^resident.Swept)
}

// Remaining is the number of versions that have not been judged.
func (r *Replay) Remaining() int { return int(r.last+1) - int(r.next) }

// Next judges the next version, which prepare analyses. It returns nil for one that there is
// nothing to judge of: a withdrawal, or a text that was not kept.
func (r *Replay) Next(ctx context.Context, prepare func(*Item) *Article) (out *Replayed, err error) {
	ordinal := r.next
	r.next++
	err = must.Catch(func() { out = r.judge(ctx, ordinal, prepare) })
	if err != nil {
		return nil, fmt.Errorf("index: replay of ordinal %d: %w", ordinal, err)
	}
	return out, nil
}

func (r *Replay) judge(ctx context.Context, ordinal uint32, prepare func(*Item) *Article) *Replayed {
	x := r.x
	b := &batch{x: x, ctx: ctx}
	v := b.version(ordinal)
	text, err := x.w.KeptText(ctx, ordinal)
	must.Do(err)
	was := must.Get(x.queryEvents(ctx, `e.number = ?`, v.event))[0]
	if text == nil || was.Verdict == Withdrawn {
		r.expose(ctx, ordinal, resident.Arrival(was.Verdict, v.exact == nil)|v.flags&resident.Blocked)
		return nil
	}
	source, _, err := x.w.standing(ctx, ordinal)
	must.Do(err)
	it := &Item{ID: v.id, Title: v.title, Source: source, Body: text, Arrived: time.UnixMilli(v.arrivedAt).UTC()}
	if v.publishedAt.Valid {
		at := time.UnixMilli(v.publishedAt.Int64).UTC()
		it.Published = &at
	}
	q := match.Query{Article: prepare(it), At: seconds(it.Arrived), Before: ordinal, Except: b.versions(v.id)}
	now := must.Get(x.check(ctx, q))
	own, cluster := x.rows.Cluster(ordinal), ordinal
	switch {
	case now.Rule == ByPreference:
		cluster = now.Cluster
		x.clusters.Set(ordinal, ordinal, 0)
		r.yield(ctx, cluster, ordinal)
	case now.Verdict == Duplicate:
		cluster = now.Cluster
		if own == ordinal {
			x.clusters.Set(own, own, cluster) // its copies have gone with it
		}
	default:
		x.clusters.Set(ordinal, ordinal, 0)
	}
	x.rows.SetCluster(ordinal, cluster)
	r.expose(ctx, ordinal, resident.Arrival(now.Verdict, q.Article.Blank)|v.flags&resident.Blocked)
	return &Replayed{Source: source, Was: was, Now: now}
}
