package index

import (
	"context"
	"database/sql"

	"jianguo/internal/sqlite"
	"jianguo/internal/wrap"
)

const itemColumns = `ordinal, id, seq, revision, title, source, url, published_at, arrived_at, exact, fingerprint,
	sketch, recipe, policy, verdict, rule, of, cluster, series, distance, margin, resemblance, evidence, event`

// eventsOf selects the numbers of all events of the version with ordinal ?1.
const eventsOf = `SELECT event FROM items WHERE ordinal = ?1
	UNION SELECT number FROM events WHERE ordinal = ?1 AND cause > 2`

// itemRow is a row of items: a version and its verdict on arrival.
type itemRow struct {
	ordinal, cluster    uint32
	id, title           string
	seq                 uint64
	revision            int64
	source              sql.NullInt64
	url                 sql.NullString
	publishedAt         sql.NullInt64
	arrivedAt           int64
	exact               []byte
	fingerprint         int64
	sketch              []byte
	recipe, policy      int64
	verdict             Verdict
	rule                Rule
	of, series          sql.NullInt64
	distance            *int
	margin, resemblance *float32
	evidence            sql.NullString
	event               uint64 // its first
}

// columns are the values of itemColumns, to be read or written.
func (r *itemRow) columns() []any {
	return []any{
		&r.ordinal, &r.id, &r.seq, &r.revision, &r.title, &r.source, &r.url, &r.publishedAt, &r.arrivedAt, &r.exact,
		&r.fingerprint, &r.sketch, &r.recipe, &r.policy, &r.verdict, &r.rule, &r.of, &r.cluster, &r.series, &r.distance,
		&r.margin, &r.resemblance, &r.evidence, &r.event,
	}
}

// eventRow is a row of events.
type eventRow struct {
	number, ordinal   uint64
	at                int64
	verdict, previous Verdict
	cause             Cause
	rule              Rule
	of                sql.NullInt64
	cluster           uint32
	policy            int64
	revision          int64
	note              sql.NullString
	restores          sql.NullInt64
	story             sql.NullInt64
	effectiveCause    Cause          // as Event.EffectiveCause; no column
	effectiveNote     sql.NullString // as Event.EffectiveNote; no column
}

// columns are the values of a row in the order of the table, to be read or written.
func (e *eventRow) columns() []any {
	return []any{&e.number, &e.ordinal, &e.at, &e.verdict, &e.previous, &e.cause, &e.rule, &e.of, &e.cluster,
		&e.policy, &e.revision, &e.note, &e.restores, &e.story}
}

func textOrNull(s string) sql.NullString { return sql.NullString{String: s, Valid: s != ""} }

func ordinalOrNull(o uint32) sql.NullInt64 { return sql.NullInt64{Int64: int64(o), Valid: o != 0} }

func idOf(ctx context.Context, db sqlite.Querier, ordinal uint32) (id string, err error) {
	err = db.QueryRowContext(ctx, `SELECT id FROM items WHERE ordinal = ?`, ordinal).Scan(&id)
	return id, wrap.Err(err, "ordinal %d", ordinal)
}

// sourceAndRule returns the source of a version and the rule of its current verdict.
func sourceAndRule(ctx context.Context, db sqlite.Querier, ordinal uint32) (source string, rule Rule, err error) {
	err = db.QueryRowContext(ctx, `SELECT coalesce(s.name, ''), coalesce(c.rule, i.rule) FROM items i
		LEFT JOIN sources s ON s.number = i.source
		LEFT JOIN current c ON c.ordinal = i.ordinal WHERE i.ordinal = ?`, ordinal).Scan(&source, &rule)
	return source, rule, wrap.Err(err, "source of ordinal %d", ordinal)
}
