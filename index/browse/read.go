package browse

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"strings"

	"jianguo/index/verdict"
	"jianguo/internal/must"
	"jianguo/internal/sqlite"
)

// The functions of this file panic on errors (must).

func count(ctx context.Context, db sqlite.Querier, what, query string, args ...any) (n int) {
	must.Dof(db.QueryRowContext(ctx, query, args...).Scan(&n), "browse: %s", what)
	return n
}

// conditions are those of a query, behind WHERE, with their arguments.
type conditions struct {
	text string
	args []any
}

func (c *conditions) and(condition string, args ...any) {
	if c.text != "" {
		c.text += ` AND `
	}
	c.text, c.args = c.text+condition, append(c.args, args...)
}

// encodeCursor names the order, which the position has a meaning in.
func encodeCursor(order string, position any) string {
	return order + "." + base64.RawURLEncoding.EncodeToString(must.Get(json.Marshal(position)))
}

// decodeCursor reads where a page of an order begins, unless it is the first.
func decodeCursor(cursor, order string, position any) {
	if cursor == "" {
		return
	}
	b, err := base64.RawURLEncoding.DecodeString(strings.TrimPrefix(cursor, order+"."))
	if err == nil {
		err = json.Unmarshal(b, position)
	}
	if err != nil {
		must.Do(fmt.Errorf("cursor %q is of no page of this order: %w", cursor, verdict.ErrQuery))
	}
}
