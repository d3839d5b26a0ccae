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
	// No fsync at a commit: what a power failure loses is derived again.
	if p.writer, err = sqlite.Open(path, sqlite.Writes, "NORMAL"); err != nil {
		return p, err
	}
	p.writer.SetMaxOpenConns(1)
	var version int
	if err := p.writer.QueryRowContext(ctx, `PRAGMA user_version`).Scan(&version); err != nil {
		return p, err
	}
	switch version {
	case format:
	case 0:
		if _, err := p.writer.ExecContext(ctx, fmt.Sprintf(`BEGIN; %s %s PRAGMA user_version = %d; COMMIT`, projectionSchema, schema, format)); err != nil {
			return p, err
		}
	default:
		return p, errOtherFormat
	}
	mark, err := p.mark(ctx)
	if err == nil {
		_, err = p.writer.ExecContext(ctx, `BEGIN IMMEDIATE; ROLLBACK`) // fails if the file is read-only
	}
	if err != nil {
		return p, err
	}
	if _, last := cat.Applied(); mark > last {
		return p, fmt.Errorf("%w: it knows more events than the catalogue", errOtherFormat)
	}
	if p.reader, err = sqlite.Open(path, sqlite.Reads, "NORMAL"); err != nil {
		return p, err
	}
	p.reader.SetMaxOpenConns(8)
	return p, nil
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
func (p *projection) mark(ctx context.Context) (event uint64, err error) {
	return event, p.writer.QueryRowContext(ctx, markQuery).Scan(&event)
}

// update takes in events up to a mark in one transaction, which f fills and package must
// ends. Its statements cannot be cancelled: the driver starts a goroutine for each that
// can.
func (p *projection) update(ctx context.Context, mark uint64, f func(tx *transaction)) error {
	tx, err := p.writer.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	t := &transaction{tx, context.WithoutCancel(ctx)}
	err = must.Catch(func() {
		f(t)
		t.exec(`INSERT INTO marks VALUES ('event', ?) ON CONFLICT (key) DO UPDATE SET value = excluded.value`, mark)
	})
	if err != nil {
		return errors.Join(err, tx.Rollback())
	}
	return tx.Commit()
}

// transaction is one of update.
type transaction struct {
	*sql.Tx
	ctx context.Context
}

func (t *transaction) exec(query string, args ...any) {
	must.Get(t.ExecContext(t.ctx, query, args...))
}

// number is the only value of a query.
func (t *transaction) number(query string, args ...any) (n uint32) {
	must.Do(t.QueryRowContext(t.ctx, query, args...).Scan(&n))
	return n
}

// lag is how many events have not been taken in yet.
func (p *projection) lag(ctx context.Context, cat Catalogue) (uint64, error) {
	var event uint64
	if err := p.reader.QueryRowContext(ctx, markQuery).Scan(&event); err != nil {
		return 0, err
	}
	_, last := cat.Applied()
	return last - min(event, last), nil
}
