package browse

import (
	"context"
	"database/sql"
	"encoding/base64"
	"encoding/json"
	"fmt"

	"jianguo/index/verdict"
	"jianguo/internal/sqlite"
)

// read reads the rows of a query. An error says what was read.
func read[T any](ctx context.Context, db sqlite.Querier, what, query string, scan func(*sql.Rows, *T) error, args ...any) ([]T, error) {
	var out []T
	err := sqlite.Each(ctx, db, query, func(r *sql.Rows) error {
		var row T
		err := scan(r, &row)
		out = append(out, row)
		return err
	}, args...)
	if err != nil {
		return nil, fmt.Errorf("browse: %s: %w", what, err)
	}
	return out, nil
}

// number scans a row of one number.
func number(r *sql.Rows, n *uint32) error { return r.Scan(n) }

// jsonList is a list as json_each reads it, which is not nil.
func jsonList(numbers []uint32) (string, error) {
	b, err := json.Marshal(append([]uint32{}, numbers...))
	return string(b), err
}

func encodeCursor(position any) (string, error) {
	b, err := json.Marshal(position)
	return base64.RawURLEncoding.EncodeToString(b), err
}

func decodeCursor(cursor string, position any) error {
	b, err := base64.RawURLEncoding.DecodeString(cursor)
	if err == nil {
		err = json.Unmarshal(b, position)
	}
	if err != nil {
		return fmt.Errorf("cursor %q is not one that a page gave: %w", cursor, verdict.ErrQuery)
	}
	return nil
}
