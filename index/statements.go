package index

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"jianguo/index/match"
	"jianguo/index/reindex"
	"jianguo/internal/must"
)

// statements are the writer's prepared statements on its one connection.
// Guarded by Index.write.
type statements struct {
	conn *sql.Conn
	all  []*sql.Stmt

	begin, commit, rollback             *sql.Stmt
	insertItem, insertText, insertEvent *sql.Stmt
	readers
	itemByOrdinal, formAt               *sql.Stmt
	arrivedAt                           *sql.Stmt
	currentOf, setCurrent               *sql.Stmt
	clusterOf, setClusterRow            *sql.Stmt
	addMember, dropMember, countMembers *sql.Stmt
	lastEvent, upsertMeta, insertSource *sql.Stmt
}

const itemColumns = `ordinal, id, seq, revision, title, source, url, published_at, arrived_at, exact, fingerprint, sketch,
	recipe, policy, verdict, rule, of, cluster, series, distance, margin, resemblance, evidence, event`

const eventColumns = `number, ordinal, at, verdict, previous, cause, rule, of, cluster, policy, revision, note`

// eventsOf selects the numbers of all events of the version with ordinal ?1.
const eventsOf = `SELECT event FROM items WHERE ordinal = ?1 UNION SELECT number FROM events WHERE ordinal = ?1 AND cause > 2`

func prepare(ctx context.Context, db *sql.DB, compared string) (*statements, error) {
	conn, err := db.Conn(ctx)
	if err != nil {
		return nil, err
	}
	s := &statements{conn: conn}
	for _, p := range []struct {
		stmt **sql.Stmt
		text string
	}{
		{&s.begin, `BEGIN IMMEDIATE`},
		{&s.commit, `COMMIT`},
		{&s.rollback, `ROLLBACK`},
		{&s.insertItem, `INSERT INTO items (` + itemColumns + `, sum) VALUES (?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?)`},
		{&s.insertText, `INSERT INTO texts (ordinal, body) VALUES (?,?)`},
		{&s.insertEvent, `INSERT INTO events (` + eventColumns + `, sum) VALUES (?,?,?,?,?,?,?,?,?,?,?,?,?)`},
		{&s.itemByOrdinal, `SELECT ` + itemColumns + ` FROM items WHERE ordinal = ?`},
		{&s.formAt, reindex.FormQuery},
		{&s.arrivedAt, `SELECT arrived_at FROM items WHERE ordinal = ?`},
		{&s.currentOf, `SELECT verdict, rule, of, cluster, flags, revision, seq FROM current WHERE ordinal = ?`},
		{&s.setCurrent, `INSERT OR REPLACE INTO current (ordinal, verdict, rule, of, cluster, flags, revision, seq, sum) VALUES (?,?,?,?,?,?,?,?,?)`},
		{&s.clusterOf, `SELECT lead, coalesce(merged_into, 0), size, first_at, last_at FROM clusters WHERE id = ?`},
		{&s.setClusterRow, `INSERT OR REPLACE INTO clusters (id, lead, merged_into, size, first_at, last_at, sum) VALUES (?,?,?,?,?,?,?)`},
		{&s.addMember, `INSERT OR IGNORE INTO members (cluster, ordinal) VALUES (?,?)`},
		{&s.dropMember, `DELETE FROM members WHERE cluster = ? AND ordinal = ?`},
		{&s.countMembers, `SELECT count(*) FROM members WHERE cluster = ?`},
		{&s.lastEvent, `SELECT ` + eventColumns + ` FROM events WHERE number IN (` + eventsOf + `) ORDER BY number DESC LIMIT 1`},
		{&s.upsertMeta, `INSERT INTO meta (key, value) VALUES (?,?) ON CONFLICT (key) DO UPDATE SET value = excluded.value`},
		{&s.insertSource, `INSERT INTO sources (number, name) VALUES (?,?)`},
	} {
		stmt, err := conn.PrepareContext(ctx, p.text)
		if err != nil {
			return nil, errors.Join(fmt.Errorf("prepare %q: %w", p.text, err), s.Close())
		}
		*p.stmt = stmt
		s.all = append(s.all, stmt)
	}
	if s.readers, err = newReaders(ctx, conn, compared); err != nil {
		return nil, errors.Join(err, s.Close())
	}
	return s, nil
}

// Close releases the statements and their connection.
func (s *statements) Close() error {
	errs := []error{s.readers.close()}
	for _, stmt := range s.all {
		errs = append(errs, stmt.Close())
	}
	return errors.Join(append(errs, s.conn.Close())...)
}

// setMeta is for use inside of a transaction.
func (s *statements) setMeta(ctx context.Context, key, value string) {
	_, err := s.upsertMeta.ExecContext(ctx, key, value)
	must.Dof(err, "meta %s", key)
}

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
	distance            sql.NullInt64
	margin, resemblance sql.NullFloat64
	evidence            sql.NullString
	event               uint64 // its first
}

// columns are the values of itemColumns, to be read or written.
func (r *itemRow) columns() []any {
	return []any{&r.ordinal, &r.id, &r.seq, &r.revision, &r.title, &r.source, &r.url, &r.publishedAt, &r.arrivedAt, &r.exact,
		&r.fingerprint, &r.sketch, &r.recipe, &r.policy, &r.verdict, &r.rule, &r.of, &r.cluster, &r.series, &r.distance,
		&r.margin, &r.resemblance, &r.evidence, &r.event}
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
}

// columns are the values of eventColumns, to be read or written.
func (e *eventRow) columns() []any {
	return []any{&e.number, &e.ordinal, &e.at, &e.verdict, &e.previous, &e.cause, &e.rule, &e.of, &e.cluster, &e.policy, &e.revision, &e.note}
}

func textOrNull(s string) sql.NullString { return sql.NullString{String: s, Valid: s != ""} }

func ordinalOrNull(o uint32) sql.NullInt64 { return sql.NullInt64{Int64: int64(o), Valid: o != 0} }

// readers holds the queries that judging needs. On the writer's connection they see
// the batch that is being applied, on another connection they do not.
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

// standing returns the source of a version and the rule of its current verdict.
func (r *readers) standing(ctx context.Context, ordinal uint32) (source string, rule Rule, err error) {
	if err = r.standingOf.QueryRowContext(ctx, ordinal).Scan(&source, &rule); err != nil {
		err = fmt.Errorf("source of ordinal %d: %w", ordinal, err)
	}
	return source, rule, err
}
