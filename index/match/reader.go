package match

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"jianguo/index/verdict"
	"jianguo/sketch"
)

// Reader reads exemplars from the catalogue with prepared statements: on the
// writer's connection, which sees the batch that is being applied, or on a pool
// beside it. It may be used by as many goroutines as the connection may.
type Reader struct {
	compared            string
	exact, sketch, text *sql.Stmt
}

// Preparer is a connection or a pool.
type Preparer interface {
	PrepareContext(ctx context.Context, query string) (*sql.Stmt, error)
}

// NewReader prepares the statements. compared is the table, or the query in
// parentheses, that versions are compared by.
func NewReader(ctx context.Context, db Preparer, compared string) (*Reader, error) {
	r := &Reader{compared: compared}
	for _, p := range []struct {
		stmt **sql.Stmt
		text string
	}{
		{&r.exact, `SELECT c.exact, i.title FROM ` + compared + ` c JOIN items i ON i.ordinal = c.ordinal WHERE c.ordinal = ?`},
		{&r.sketch, `SELECT sketch FROM ` + compared + ` WHERE ordinal = ?`},
		{&r.text, `SELECT i.title, t.body, i.published_at, coalesce(s.name, '') FROM items i JOIN texts t ON t.ordinal = i.ordinal LEFT JOIN sources s ON s.number = i.source WHERE i.ordinal = ?`},
	} {
		var err error
		if *p.stmt, err = db.PrepareContext(ctx, p.text); err != nil {
			return nil, errors.Join(fmt.Errorf("prepare %q: %w", p.text, err), r.Close())
		}
	}
	return r, nil
}

// Close closes the statements: SQLite does not close a connection that has any.
func (r *Reader) Close() (err error) {
	for _, stmt := range []*sql.Stmt{r.exact, r.sketch, r.text} {
		if stmt != nil {
			err = errors.Join(err, stmt.Close())
		}
	}
	return err
}

// readExact returns the exact hash of a version, nil for a blank one, and its headline.
func (r *Reader) readExact(ctx context.Context, ordinal uint32) (exact []byte, title string, err error) {
	return exact, title, r.exact.QueryRowContext(ctx, ordinal).Scan(&exact, &title)
}

func (r *Reader) readSketch(ctx context.Context, ordinal uint32) (s sketch.Sketch, err error) {
	var encoded []byte
	if err = r.sketch.QueryRowContext(ctx, ordinal).Scan(&encoded); err == nil {
		s, err = sketch.Decode(encoded)
	}
	if err != nil {
		return s, fmt.Errorf("sketch of ordinal %d: %w", ordinal, err)
	}
	return s, nil
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
	if err = r.text.QueryRowContext(ctx, ordinal).Scan(&t.title, &packed, &t.published, &t.source); err == nil {
		t.body, err = verdict.UnpackText(packed)
	}
	return t, err
}
