package browse

import (
	"context"
	"database/sql"
	"encoding/base64"
	"encoding/json"
	"fmt"

	"jianguo/index/verdict"
	"jianguo/internal/must"
	"jianguo/internal/sqlite"
)

// The functions of this file end at their first error: package must.

// read reads the rows of a query. An error says what was read.
func read[T any](
	ctx context.Context, db sqlite.Querier, what, query string, scan func(*sql.Rows, *T) error, args ...any,
) (out []T) {
	must.Dof(sqlite.Each(ctx, db, query, func(r *sql.Rows) error {
		var row T
		err := scan(r, &row)
		out = append(out, row)
		return err
	}, args...), "browse: %s", what)
	return out
}

// number and pair scan a row of one number, and of two.
func number(r *sql.Rows, n *uint32) error  { return r.Scan(n) }
func pair(r *sql.Rows, p *[2]uint32) error { return r.Scan(&p[0], &p[1]) }

// count is the number that a query counts.
func count(ctx context.Context, db sqlite.Querier, what, query string, args ...any) (n int) {
	must.Dof(db.QueryRowContext(ctx, query, args...).Scan(&n), "browse: %s", what)
	return n
}

// conditions are those of a query, behind WHERE, with their arguments.
type conditions struct {
	text string
	args []any
}

// and adds a condition.
func (c *conditions) and(condition string, args ...any) {
	if c.text != "" {
		c.text += ` AND `
	}
	c.text, c.args = c.text+condition, append(c.args, args...)
}

func encodeCursor(position any) string {
	return base64.RawURLEncoding.EncodeToString(must.Get(json.Marshal(position)))
}

// decodeCursor reads where a page begins, unless it is the first.
func decodeCursor(cursor string, position any) {
	if cursor == "" {
		return
	}
	b, err := base64.RawURLEncoding.DecodeString(cursor)
	if err == nil {
		err = json.Unmarshal(b, position)
	}
	if err != nil {
		must.Do(fmt.Errorf("cursor %q is not one that a page gave: %w", cursor, verdict.ErrQuery))
	}
}
