package browse

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"

	"jianguo/index"
	"jianguo/internal/must"
	"jianguo/internal/sqlite"
)

// FileName is the file of a Model inside the data directory.
const FileName = "browse.db"

// format is the version of the file. A file of another version is rebuilt.
const format = 5

// The table marks has the number of the last event that the lists have taken in,
// the same of the search, and the recipe of the words that are indexed.
const (
	listsMark  = "lists"
	wordsMark  = "words"
	recipeMark = "recipe"
)

// In the tables a story is a cluster of two or more: that is what they were called first.
const schema = `
CREATE TABLE marks (key TEXT PRIMARY KEY, value INTEGER NOT NULL) WITHOUT ROWID;
CREATE TABLE stories (cluster INTEGER PRIMARY KEY, lead INTEGER NOT NULL, original INTEGER NOT NULL,
  size INTEGER NOT NULL, sources INTEGER NOT NULL, first_at INTEGER NOT NULL,
  last_at INTEGER NOT NULL, heat REAL NOT NULL, pull REAL NOT NULL);
CREATE INDEX stories_by_last ON stories (last_at, cluster);
CREATE INDEX stories_by_first ON stories (first_at, cluster);
CREATE INDEX stories_by_size ON stories (size, cluster);
CREATE INDEX stories_by_heat ON stories (heat, cluster);
CREATE INDEX stories_by_pull ON stories (pull, cluster);
CREATE TABLE story_sources (source INTEGER, cluster INTEGER, PRIMARY KEY (source, cluster)) WITHOUT ROWID;
CREATE INDEX story_sources_by_cluster ON story_sources (cluster);
CREATE TABLE hours (hour INTEGER PRIMARY KEY, items INTEGER NOT NULL, duplicates INTEGER NOT NULL,
  suspects INTEGER NOT NULL);
CREATE TABLE source_days (source INTEGER, day INTEGER, items INTEGER NOT NULL, duplicates INTEGER NOT NULL,
  suspects INTEGER NOT NULL, PRIMARY KEY (source, day)) WITHOUT ROWID;
CREATE INDEX source_days_by_day ON source_days (day);
CREATE TABLE pairs (origin INTEGER, copier INTEGER, day INTEGER, n INTEGER NOT NULL,
  PRIMARY KEY (origin, copier, day)) WITHOUT ROWID;
CREATE TABLE copies (ordinal INTEGER PRIMARY KEY, of INTEGER NOT NULL, origin INTEGER NOT NULL,
  copier INTEGER NOT NULL);
CREATE INDEX copies_by_origin ON copies (origin);
CREATE INDEX copies_by_copier ON copies (copier);
CREATE TABLE queue (ordinal INTEGER PRIMARY KEY, error REAL NOT NULL, series INTEGER NOT NULL,
  source INTEGER NOT NULL);
CREATE INDEX queue_by_error ON queue (error, ordinal, series, source);
CREATE INDEX queue_by_series ON queue (series, error, ordinal);
CREATE TABLE rejected (ordinal INTEGER PRIMARY KEY, day INTEGER NOT NULL, lot INTEGER NOT NULL, early INTEGER NOT NULL);
CREATE INDEX rejected_by_lot ON rejected (day, lot);
CREATE TABLE told (source INTEGER, day INTEGER, PRIMARY KEY (source, day)) WITHOUT ROWID;
CREATE INDEX rejected_early ON rejected (ordinal) WHERE early;
` + searchSchema

var errOtherFormat = errors.New("another format")

type file struct{ writer, reader *sql.DB } // writer has one connection

// openFile opens the file. It rebuilds one that is damaged, of another format, or
// ahead of the catalogue (a backup was restored).
func openFile(ctx context.Context, cat *index.Index, log *slog.Logger) (*file, error) {
	path := filepath.Join(cat.Dir(), FileName)
	f, err := tryFile(ctx, cat, path)
	if errors.Is(err, errOtherFormat) || sqlite.Unusable(err) {
		log.WarnContext(ctx, "the file is rebuilt from the catalogue", "file", path, "because", err)
		if err = errors.Join(f.close(), sqlite.Remove(path)); err == nil {
			f, err = tryFile(ctx, cat, path)
		}
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("browse: %s: %w", path, err), f.close())
	}
	return f, nil
}

// tryFile opens the file as it is, or makes it. What it has opened is to be closed after an error, too.
func tryFile(ctx context.Context, cat *index.Index, path string) (*file, error) {
	f := new(file)
	err := must.Catch(func() {
		// No fsync at a commit: what a power failure loses is derived again.
		f.writer = must.Get(sqlite.Open(path, sqlite.Creates, "NORMAL"))
		f.writer.SetMaxOpenConns(1)
		switch count(ctx, f.writer, "format", `PRAGMA user_version`) {
		case format:
		case 0:
			create := fmt.Sprintf(`BEGIN; %s PRAGMA user_version = %d; COMMIT`, schema, format)
			must.Get(f.writer.ExecContext(ctx, create))
		default:
			must.Do(errOtherFormat)
		}
		must.Get(f.writer.ExecContext(ctx, `BEGIN IMMEDIATE; ROLLBACK`)) // fails if the file is read-only
		f.reader = must.Get(sqlite.Open(path, sqlite.Reads, "NORMAL"))
		f.reader.SetMaxOpenConns(8)
		if _, last := cat.Applied(); max(f.mark(ctx, listsMark), f.mark(ctx, wordsMark)) > last {
			must.Do(fmt.Errorf("%w: it knows more events than the catalogue", errOtherFormat))
		}
	})
	return f, err
}

// close closes the file. What still reads then gets an error.
func (f *file) close() error {
	var errs []error
	for _, db := range []*sql.DB{f.reader, f.writer} {
		if db != nil {
			errs = append(errs, db.Close())
		}
	}
	return errors.Join(errs...)
}

// mark reads one of the marks, 0 if there is none.
func (f *file) mark(ctx context.Context, key string) uint64 {
	return uint64(count(ctx, f.reader, key, `SELECT coalesce(max(value), 0) FROM marks WHERE key = ?`, key))
}

// update changes the file in one transaction, which work fills. work may panic (must). Its
// statements cannot be cancelled: the driver starts a goroutine for each that can.
func (f *file) update(ctx context.Context, work func(tx *transaction)) {
	sqlite.Update(ctx, f.writer, func(tx *sql.Tx) { work(&transaction{tx, context.WithoutCancel(ctx)}) })
}

// transaction is one of update.
type transaction struct {
	*sql.Tx
	ctx context.Context
}

func (t *transaction) exec(query string, args ...any) {
	must.Get(t.ExecContext(t.ctx, query, args...))
}

func (t *transaction) setMark(key string, value uint64) {
	t.exec(`INSERT OR REPLACE INTO marks VALUES (?, ?)`, key, int64(value))
}

// number is the only value of a query.
func (t *transaction) number(query string, args ...any) int {
	return count(t.ctx, t, "a number", query, args...)
}
