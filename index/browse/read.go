package browse

import (
	"context"
	"database/sql"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"time"

	"jianguo/index/verdict"
	"jianguo/internal/must"
	"jianguo/internal/sqlite"
	"jianguo/internal/wait"
)

// The functions of this file end at their first error: package must.

// read reads the rows of a query. An error says what was read.
func read[T any](ctx context.Context, db sqlite.Querier, what, query string, scan func(*sql.Rows, *T) error, args ...any) (out []T) {
	must.Dof(sqlite.Each(ctx, db, query, func(r *sql.Rows) error {
		var row T
		err := scan(r, &row)
		out = append(out, row)
		return err
	}, args...), "browse: %s", what)
	return out
}

// number scans a row of one number.
func number(r *sql.Rows, n *uint32) error { return r.Scan(n) }

// count is the number that a query counts.
func count(ctx context.Context, db *sql.DB, what, query string, args ...any) (n int) {
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

// pace slows background work down while many mutations arrive: ingest needs the
// processor more, and the work catches up later. The worker calls rest between
// small pieces of work, so that no article waits long for a processor. A pace is
// for one goroutine; a nil pace never rests.
type pace struct {
	arriving func() int64 // mutations a second, as of now
	from     time.Time    // when the worker began, or last rested
}

const (
	paceBusy    = 100 // mutations a second; above it, work rests
	paceStretch = 2 * time.Millisecond
	paceRest    = 3 // times as long as the work
)

// begin returns a pace for work that begins now, for the same or for another
// goroutine.
func (p *pace) begin() *pace {
	if p == nil {
		return nil
	}
	return &pace{p.arriving, time.Now()}
}

// rest waits if the worker has worked long enough and many mutations arrive. Its
// only error is that ctx is done.
func (p *pace) rest(ctx context.Context) error {
	if p == nil {
		return nil
	}
	now := time.Now()
	worked := now.Sub(p.from)
	if worked < paceStretch {
		return nil
	}
	var err error
	if p.arriving() > paceBusy {
		err = wait.For(ctx, paceRest*worked)
	}
	p.from = time.Now()
	return err
}
