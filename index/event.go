package index

import (
	"cmp"
	"context"
	"database/sql"
	"encoding/json"
	"time"

	"jianguo/index/verdict"
	"jianguo/internal/must"
	"jianguo/internal/sqlite"
	"jianguo/simhash"
)

// event returns the published form of a row: the same bytes each time. The argument
// of is the id of the version e.of. It panics on errors (must).
func (x *catalogue) event(e *eventRow, r *itemRow, of string) Event {
	ev := Event{
		Number: e.number, ID: r.id, Revision: e.revision, Verdict: e.verdict, Previous: e.previous, Cause: e.cause,
		Restores: uint64(e.restores.Int64), EffectiveCause: e.effectiveCause, EffectiveNote: e.effectiveNote.String,
		Rule: e.rule, Of: of,
		Cluster: e.cluster, Story: cmp.Or(uint32(e.story.Int64), e.cluster),
		Fingerprint: simhash.Fingerprint(r.fingerprint).String(),
		Recipe:      x.stampHash(r.recipe), Policy: x.stampHash(e.policy), At: time.UnixMilli(e.at).UTC(),
	}
	if e.effectiveCause == CauseIngest || e.effectiveCause == CauseRevision {
		ev.Series = uint32(r.series.Int64)
		if r.of.Valid {
			ev.Measure(r.distance, r.margin, r.resemblance)
		}
		if r.evidence.Valid {
			ev.Facts = new(Facts)
			must.Dof(json.Unmarshal([]byte(r.evidence.String), ev.Facts), "evidence of ordinal %d", r.ordinal)
		}
	}
	ev.Why = Why(&ev, x.cfg.Language)
	if e.note.Valid {
		ev.Why += verdict.NoteSeparator.In(x.cfg.Language) + e.note.String
	}
	return ev
}

// queryEvents panics on errors (must).
func (x *catalogue) queryEvents(ctx context.Context, db sqlite.Querier, where string, args ...any) (events []Event) {
	for rows := range sqlite.Rows(ctx, db, `SELECT e.number, e.ordinal, e.at, e.verdict, e.previous, e.cause,
		e.rule, e.of, e.cluster, e.policy, e.revision, e.note, e.restores, e.story,
		coalesce(r.cause, e.cause), r.note, i.id, i.fingerprint, i.recipe,
		i.of, i.series, i.distance, i.margin, i.resemblance, i.evidence, o.id
		FROM events e JOIN items i ON i.ordinal = e.ordinal LEFT JOIN items o ON o.ordinal = e.of
		LEFT JOIN events r ON r.number = e.restores
		WHERE `+where, args...) {
		var e eventRow
		var r itemRow
		var of sql.NullString
		must.Do(rows.Scan(append(e.columns(), &e.effectiveCause, &e.effectiveNote, &r.id, &r.fingerprint, &r.recipe,
			&r.of, &r.series, &r.distance, &r.margin, &r.resemblance, &r.evidence, &of)...))
		events = append(events, x.event(&e, &r, of.String))
	}
	return events
}

// lastEvent returns the last event of a version that fits a condition on e; `1`: of all. It panics on errors (must).
func (x *catalogue) lastEvent(ctx context.Context, db sqlite.Querier, ordinal uint32, condition string) Event {
	events := x.queryEvents(ctx, db, `e.number IN (`+eventsOf+`) AND `+condition+` ORDER BY e.number DESC LIMIT 1`,
		ordinal)
	if len(events) == 0 {
		must.Dof(sql.ErrNoRows, "last event of ordinal %d", ordinal)
	}
	return events[0]
}
