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

// Comparing is the expensive part of judging, and most of it does not depend on
// the articles just before: a search changes little from one batch to the next,
// and how two texts compare does not change at all. So workers judge ahead of
// time, each article on its own, against the index as it then is. In the
// article's turn the writer brings the search up to date from the journal (renew)
// and compares only what is new. The verdict is that of judging in turn:
//
//   - a renewed search finds what a new one would find, or a new one is made;
//   - a cached comparison is of the same two texts, and comparing is pure;
//   - all else (exact copies, targets, windows) is looked up in turn.

// Preview is what was found out about an article before its turn.
type Preview struct {
	policy *verdict.Policy
	at     uint64 // the journal's next before the search
	found  *found
	known  comparisons
}

// Preview does ahead of time what judging an article will need. It changes no
// verdict, and may run beside the writer and itself. It returns nil where judging
// needs no search.
func (m *Matcher) Preview(ctx context.Context, r *Reader, q Query) (*Preview, error) {
	if q.Article.Blank || m.policy.Rules == verdict.RulesHamming {
		return nil, nil
	}
	v := &Preview{policy: m.policy, at: m.journal.next.Load(), known: comparisons{skipUnseen: true}}
	if _, exact, err := m.exactCopy(ctx, r, &q); exact || err != nil && !errors.Is(err, sql.ErrNoRows) {
		return nil, err
	}
	v.found = m.search(q.Article)
	c := comparing{Matcher: m, reader: r, query: &q, known: &v.known}
	_, err := c.best(ctx, m.proposals(q.Article, v.found))
	v.known.skipUnseen = false
	if err != nil {
		return nil, err
	}
	return v, nil
}

// update returns the proposals for an article and the comparisons that are known,
// as of now. Writer only, unless v is nil.
func (m *Matcher) update(a *verdict.Article, v *Preview) ([]Proposal, *comparisons) {
	if v == nil || v.policy != m.policy {
		return m.Propose(a), new(comparisons)
	}
	if v.at < m.journal.begin {
		// Changes since then are forgotten. After a batch that failed an ordinal may stand for another text.
		m.metrics.searches.WithLabelValues("again").Inc()
		return m.Propose(a), new(comparisons)
	}
	if !m.renew(a, v.found, v.at) {
		m.metrics.searches.WithLabelValues("again").Inc()
		return m.Propose(a), &v.known
	}
	m.metrics.searches.WithLabelValues("before").Inc()
	return m.proposals(a, v.found), &v.known
}

// Reader reads exemplars from the catalogue: on the writer's connection, which sees the batch that
// is being applied, or on a pool beside it. It may be used by as many goroutines as the connection
// may.
type Reader struct {
	DB       sqlite.RowQuerier
	Compared string // the table, or the query in parentheses, that versions are compared by
}

// readExact returns the exact hash of a version, nil for a blank one, and its headline.
func (r *Reader) readExact(ctx context.Context, ordinal uint32) (exact []byte, title string, err error) {
	return exact, title, r.DB.QueryRowContext(ctx,
		`SELECT c.exact, i.title FROM `+r.Compared+` c JOIN items i ON i.ordinal = c.ordinal WHERE c.ordinal = ?`,
		ordinal).Scan(&exact, &title)
}

func (r *Reader) readSketch(ctx context.Context, ordinal uint32) (s compare.Sketch, err error) {
	var encoded []byte
	if err = r.DB.QueryRowContext(ctx, `SELECT sketch FROM `+r.Compared+` WHERE ordinal = ?`,
		ordinal).Scan(&encoded); err == nil {
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
