package sqlite

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"slices"
	"time"

	"jianguo/internal/must"
)

// Querier is a database, a connection or a transaction.
type Querier interface {
	QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error)
	QueryRowContext(ctx context.Context, query string, args ...any) *sql.Row
	ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error)
}

// Each calls f for every row of a query, until f returns an error.
func Each(ctx context.Context, db Querier, query string, f func(*sql.Rows) error, args ...any) error {
	return must.Catch(func() {
		for rows := range Rows(ctx, db, query, args...) {
			must.Do(f(rows))
		}
	})
}

// Update runs work, which may panic (must), as it does Update, in a transaction.
func Update(ctx context.Context, db *sql.DB, work func(*sql.Tx)) {
	tx := must.Get(db.BeginTx(ctx, nil))
	defer func() { _ = tx.Rollback() }() // nothing to do after a commit
	work(tx)
	must.Do(tx.Commit())
}

// Rows yields every row of a query. It panics on errors (must).
func Rows(ctx context.Context, db Querier, query string, args ...any) iter.Seq[*sql.Rows] {
	return func(yield func(*sql.Rows) bool) {
		rows := must.Get(db.QueryContext(ctx, query, args...))
		defer rows.Close() // where the loop ends early
		for rows.Next() {
			if !yield(rows) {
				return
			}
		}
		must.Do(errors.Join(rows.Err(), rows.Close()))
	}
}

// Pairs yields the two columns of every row of a query. It panics on errors (must).
func Pairs[A, B any](ctx context.Context, db Querier, query string, args ...any) iter.Seq2[A, B] {
	return func(yield func(A, B) bool) {
		for rows := range Rows(ctx, db, query, args...) {
			var a A
			var b B
			if must.Do(rows.Scan(&a, &b)); !yield(a, b) {
				return
			}
		}
	}
}

// All reads the rows of a query. columns lists where the columns of a row go, as the
// arguments of Scan.
func All[T any](ctx context.Context, db Querier, columns func(*T) []any, query string, args ...any) ([]T, error) {
	var out []T
	err := Each(ctx, db, query, func(r *sql.Rows) error {
		var row T
		err := r.Scan(columns(&row)...)
		out = append(out, row)
		return err
	}, args...)
	return out, err
}

// Column reads the only column of a query.
func Column[T any](ctx context.Context, db Querier, query string, args ...any) ([]T, error) {
	return All(ctx, db, func(v *T) []any { return []any{v} }, query, args...)
}

// HasColumns reports whether the tables of db have the columns that a schema makes, and no others.
func HasColumns(ctx context.Context, db Querier, schema string) (bool, error) {
	const columns = `SELECT t.name || '.' || c.name FROM sqlite_schema t, pragma_table_info(t.name) c
		WHERE t.type = 'table' AND t.name NOT LIKE 'sqlite_%' ORDER BY 1`
	return must.Try(func() bool {
		empty := must.Get(sql.Open(driverName, ":memory:"))
		defer empty.Close()
		empty.SetMaxOpenConns(1)
		must.Get(empty.ExecContext(ctx, schema))
		return slices.Equal(must.Get(Column[string](ctx, db, columns)), must.Get(Column[string](ctx, empty, columns)))
	})
}

// List is a list as json_each reads it.
func List(numbers []uint32) string {
	list, _ := json.Marshal(append([]uint32{}, numbers...)) // numbers: no error
	return string(list)
}

// Millis scans a time in milliseconds since 1970; a *Millis is nil where the column is NULL.
type Millis time.Time

// Scan implements sql.Scanner.
func (m *Millis) Scan(v any) error {
	ms, ok := v.(int64)
	if !ok {
		return fmt.Errorf("%v is not a time in milliseconds", v)
	}
	*m = Millis(time.UnixMilli(ms).UTC())
	return nil
}
