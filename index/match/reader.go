package match

import (
	"context"
	"database/sql"
	"fmt"

	"jianguo/index/verdict"
	"jianguo/internal/sqlite"
	"jianguo/sketch"
)

// Reader reads exemplars from the catalogue: on the writer's connection, which sees the batch that
// is being applied, or on a pool beside it. It may be used by as many goroutines as the connection
// may.
type Reader struct {
	DB       sqlite.RowQuerier
	Compared string // the table, or the query in parentheses, that versions are compared by
}

// readExact returns the exact hash of a version, nil for a blank one, and its headline.
func (r *Reader) readExact(ctx context.Context, ordinal uint32) (exact []byte, title string, err error) {
	return exact, title, r.DB.QueryRowContext(ctx, `SELECT c.exact, i.title FROM `+r.Compared+` c JOIN items i ON i.ordinal = c.ordinal WHERE c.ordinal = ?`, ordinal).Scan(&exact, &title)
}

func (r *Reader) readSketch(ctx context.Context, ordinal uint32) (s sketch.Sketch, err error) {
	var encoded []byte
	if err = r.DB.QueryRowContext(ctx, `SELECT sketch FROM `+r.Compared+` WHERE ordinal = ?`, ordinal).Scan(&encoded); err == nil {
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
	err = r.DB.QueryRowContext(ctx, `SELECT i.title, t.body, i.published_at, coalesce(s.name, '') FROM items i JOIN texts t ON t.ordinal = i.ordinal
		LEFT JOIN sources s ON s.number = i.source WHERE i.ordinal = ?`, ordinal).Scan(&t.title, &packed, &t.published, &t.source)
	if err == nil {
		t.body, err = verdict.UnpackText(packed)
	}
	return t, err
}
