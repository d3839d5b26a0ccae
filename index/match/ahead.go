package match

import (
	"context"
	"database/sql"
	"errors"

	"jianguo/compare"
	"jianguo/index/verdict"
	"jianguo/internal/sqlite"
	"jianguo/internal/wrap"
)

// Comparing is the expensive part of judging, and how two texts compare does not depend on the articles just before.
// So workers judge ahead of time, each article on its own, against the index as it then is. In the article's turn the
// writer searches again and judges, and compares only what is new. The verdict is that of judging in turn: a cached
// comparison is of the same two texts, and comparing is pure. All else is looked up in turn.

// Comparisons are those of an article with earlier texts, from before its turn.
type Comparisons struct {
	policy     *verdict.Policy
	generation uint64
	byOrdinal  map[uint32]*comparison
}

// CompareAhead makes the comparisons that judging an article will need; nil where it compares nothing. It changes no
// verdict, and may run beside the writer and itself.
func (m *Matcher) CompareAhead(ctx context.Context, r *Reader, q Query) (*Comparisons, error) {
	if q.Article.Blank || m.policy.Rules == verdict.RulesHamming {
		return nil, nil
	}
	v := &Comparisons{policy: m.policy, generation: m.generation.Load(), byOrdinal: map[uint32]*comparison{}}
	if _, exact, err := m.exactCopy(ctx, r, &q); exact || err != nil && !errors.Is(err, sql.ErrNoRows) {
		return nil, err
	}
	c := comparing{Matcher: m, reader: r, query: &q, known: v.byOrdinal, ahead: true}
	if _, err := c.best(ctx, m.Propose(&q)); err != nil {
		return nil, err
	}
	return v, nil
}

// valid returns the comparisons by ordinal, or an empty map if they are by another policy or were dropped.
func (v *Comparisons) valid(m *Matcher) map[uint32]*comparison {
	if v == nil || v.policy != m.policy || v.generation != m.generation.Load() {
		return map[uint32]*comparison{}
	}
	return v.byOrdinal
}

// Reader reads exemplars from the catalogue: on the writer's connection, which sees the batch that
// is being applied, or on a pool beside it. It may be used by as many goroutines as the connection
// may.
type Reader struct {
	DB       sqlite.Querier
	Compared string // the table, or the query in parentheses, that versions are compared by
}

// readExact returns the exact hash of a version, nil for a blank one, and its headline.
func (r *Reader) readExact(ctx context.Context, ordinal uint32) (exact []byte, title string, err error) {
	err = r.DB.QueryRowContext(ctx,
		`SELECT c.exact, i.title FROM `+r.Compared+` c JOIN items i ON i.ordinal = c.ordinal WHERE c.ordinal = ?`,
		ordinal).Scan(&exact, &title)
	return exact, title, err
}

func (r *Reader) readSketch(ctx context.Context, ordinal uint32) (s compare.Sketch, err error) {
	var encoded []byte
	err = r.DB.QueryRowContext(ctx, `SELECT sketch FROM `+r.Compared+` WHERE ordinal = ?`, ordinal).Scan(&encoded)
	switch {
	case err == nil && encoded == nil: // blank by this recipe; a reindex is just posting it by the next one
		err = sql.ErrNoRows
	case err == nil:
		s, err = compare.DecodeSketch(encoded)
	}
	return s, wrap.Err(err, "sketch of ordinal %d", ordinal)
}

// keptText is a text as the catalogue keeps it.
type keptText struct {
	title, body, source string
	published           sql.NullInt64 // milliseconds since 1970
}

// readText returns the kept text of a version; sql.ErrNoRows where it was not
// kept.
func (r *Reader) readText(ctx context.Context, ordinal uint32) (t keptText, err error) {
	var packed []byte
	err = r.DB.QueryRowContext(ctx,
		`SELECT i.title, t.body, i.published_at, coalesce(s.name, '') FROM items i JOIN texts t ON t.ordinal = i.ordinal
		LEFT JOIN sources s ON s.number = i.source WHERE i.ordinal = ?`, ordinal).
		Scan(&t.title, &packed, &t.published, &t.source)
	if err == nil {
		t.body, err = verdict.UnpackText(packed)
	}
	return t, err
}
