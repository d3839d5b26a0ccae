package browse

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"

	"jianguo/internal/must"
	"jianguo/internal/sqlite"
)

// A projection is a file that is derived from the event log. Its table marks has
// the number of the last event that it has taken in.
type projection struct{ writer, reader *sql.DB }

const projectionSchema = `CREATE TABLE marks (key TEXT PRIMARY KEY, value INTEGER NOT NULL) WITHOUT ROWID;`

var errOtherFormat = errors.New("another format")

// openProjection opens a projection. It rebuilds one that is damaged, of another
// format, or ahead of the catalogue (a backup was restored).
func openProjection(ctx context.Context, cat Catalogue, log *slog.Logger, name, schema string, format int) (projection, error) {
	path := filepath.Join(cat.Dir(), name)
	p, err := tryProjection(ctx, cat, path, schema, format)
	if errors.Is(err, errOtherFormat) || sqlite.Unusable(err) {
		log.WarnContext(ctx, "the file is rebuilt from the catalogue", "file", path, "because", err)
		if err = errors.Join(p.close(), sqlite.Remove(filepath.Join(cat.Dir(), name))); err == nil {
			p, err = tryProjection(ctx, cat, path, schema, format)
		}
	}
	if err != nil {
		return projection{}, errors.Join(fmt.Errorf("browse: %s: %w", path, err), p.close())
	}
	return p, nil
}

func tryProjection(ctx context.Context, cat Catalogue, path, schema string, format int) (p projection, err error) {
	err = must.Catch(func() {
		// No fsync at a commit: what a power failure loses is derived again.
		p.writer = must.Get(sqlite.Open(path, sqlite.Creates, "NORMAL"))
		p.writer.SetMaxOpenConns(1)
		switch count(ctx, p.writer, "format", `PRAGMA user_version`) {
		case format:
		case 0:
			must.Get(p.writer.ExecContext(ctx, fmt.Sprintf(`BEGIN; %s %s PRAGMA user_version = %d; COMMIT`, projectionSchema, schema, format)))
		default:
			must.Do(errOtherFormat)
		}
		mark := p.mark(ctx)
		must.Get(p.writer.ExecContext(ctx, `BEGIN IMMEDIATE; ROLLBACK`)) // fails if the file is read-only
		if _, last := cat.Applied(); mark > last {
			must.Do(fmt.Errorf("%w: it knows more events than the catalogue", errOtherFormat))
		}
		p.reader = must.Get(sqlite.Open(path, sqlite.Reads, "NORMAL"))
		p.reader.SetMaxOpenConns(8)
	})
	return p, err
}

// close closes the file. What still reads then gets an error.
func (p *projection) close() error {
	var errs []error
	for _, db := range []*sql.DB{p.reader, p.writer} {
		if db != nil {
			errs = append(errs, db.Close())
		}
	}
	return errors.Join(errs...)
}

const markQuery = `SELECT coalesce(max(value), 0) FROM marks WHERE key = 'event'`

// mark is the last event taken in, as the writer sees it.
func (p *projection) mark(ctx context.Context) uint64 {
	return uint64(count(ctx, p.writer, "mark", markQuery))
}

// update takes in events up to a mark in one transaction, which f fills and package must
// ends. Its statements cannot be cancelled: the driver starts a goroutine for each that
// can.
func (p *projection) update(ctx context.Context, mark uint64, f func(tx *transaction)) {
	tx := must.Get(p.writer.BeginTx(ctx, nil))
	defer func() { _ = tx.Rollback() }() // nothing to do after a commit
	t := &transaction{tx, context.WithoutCancel(ctx)}
	f(t)
	t.setMark("event", int64(mark))
	must.Do(tx.Commit())
}

// transaction is one of update.
type transaction struct {
	*sql.Tx
	ctx context.Context
}

func (t *transaction) exec(query string, args ...any) {
	must.Get(t.ExecContext(t.ctx, query, args...))
}

// setMark replaces one of the marks.
func (t *transaction) setMark(key string, value int64) {
	t.exec(`INSERT INTO marks VALUES (?, ?) ON CONFLICT (key) DO UPDATE SET value = excluded.value`, key, value)
}

// number is the only value of a query.
func (t *transaction) number(query string, args ...any) (n uint32) {
	must.Do(t.QueryRowContext(t.ctx, query, args...).Scan(&n))
	return n
}

// lag is how many events have not been taken in yet.
func (p *projection) lag(ctx context.Context, cat Catalogue) uint64 {
	event := uint64(count(ctx, p.reader, "lag", markQuery))
	_, last := cat.Applied()
	return last - min(event, last)
}
