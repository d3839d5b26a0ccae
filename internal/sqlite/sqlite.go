// Package sqlite opens SQLite files, and has the few functions that readers of all of them need.
package sqlite

import (
	"bytes"
	"context"
	"database/sql"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/url"
	"os"

	"github.com/mattn/go-sqlite3"

	"jianguo/internal/disk"
	"jianguo/internal/wrap"
)

// Access is what the connections of a pool are for.
type Access int

const (
	// Creates is for the writer of a file, which it makes if there is none. No other connection does: the next start
	// would take an empty file in place of one that was removed for the file itself.
	Creates Access = iota
	// Writes is for a writer of a file that exists.
	Writes
	// Reads is for queries. They read without a memory map: a mapped file that is cut short
	// ends the process with a signal that nothing can catch.
	Reads
)

// Create makes a file with pages of so many bytes and a format, unless there is one: both are written to the header
// of the file, ahead of WAL mode.
func Create(ctx context.Context, path string, pageSize, format int) error {
	if info, err := os.Stat(path); err == nil && info.Size() > 0 {
		return nil
	}
	db, err := sql.Open(driverName, "file:"+(&url.URL{Path: path}).EscapedPath())
	if err == nil {
		const pragmas = "PRAGMA page_size = %d; PRAGMA user_version = %d; PRAGMA journal_mode = WAL"
		_, err = db.ExecContext(ctx, fmt.Sprintf(pragmas, pageSize, format))
		err = errors.Join(err, db.Close())
	}
	return wrap.Err(err, "create %s", path)
}

// Format reads the format that Create wrote, from the header of the file: opening a database may write to it. It
// returns false for a file that is missing, or is none of SQLite.
func Format(path string) (format uint32, ok bool) {
	f, err := os.Open(path)
	if err != nil {
		return 0, false
	}
	defer f.Close()
	header := make([]byte, 100)
	if _, err := io.ReadFull(f, header); err != nil || !bytes.HasPrefix(header, []byte("SQLite format 3\x00")) {
		return 0, false
	}
	return binary.BigEndian.Uint32(header[60:]), true
}

// Open opens a pool on a file, in WAL mode. Synchronous is SQLite's pragma of
// that name. The pragmas are part of the DSN, so every connection has them.
func Open(path string, access Access, synchronous string) (*sql.DB, error) {
	q := url.Values{}
	q.Set("mode", [...]string{Creates: "rwc", Writes: "rw", Reads: "rw"}[access])
	q.Set("_journal_mode", "WAL")
	q.Set("_synchronous", synchronous)
	q.Set("_busy_timeout", "10000")
	q.Set("_cache_size", "-65536")
	q.Set("_stmt_cache_size", "32") // a connection prepares no text twice that it has run lately
	if access == Reads {
		q.Set("_query_only", "true")
		q.Set("_cache_size", "-16384") // the inner pages of ten million rows
	}
	db, err := sql.Open(driverName, "file:"+(&url.URL{Path: path}).EscapedPath()+"?"+q.Encode())
	return db, wrap.Err(err, "open %s", path)
}

// Damaged reports whether an error says that a file is not what SQLite has
// written.
func Damaged(err error) bool {
	var broken sqlite3.Error
	return errors.Is(err, ErrSum) ||
		errors.As(err, &broken) && (broken.Code == sqlite3.ErrCorrupt || broken.Code == sqlite3.ErrNotADB)
}

// Unusable reports whether a file that is derived from the catalogue has to be rebuilt: it is damaged, or its
// header says that it must not be written. On a read-only disk the rebuild fails too.
func Unusable(err error) bool {
	var broken sqlite3.Error
	return Damaged(err) || errors.As(err, &broken) && broken.Code == sqlite3.ErrReadonly
}

// Remove removes a file and its write-ahead log; a missing one is no error. The
// log goes first: a new file would take it for its own.
func Remove(path string) error {
	var errs []error
	for _, suffix := range []string{"-wal", "-shm", ""} {
		if err := os.Remove(path + suffix); err != nil && !errors.Is(err, fs.ErrNotExist) {
			errs = append(errs, err)
		}
	}
	return errors.Join(errs...)
}

// Execer is a database, a connection or a transaction.
type Execer interface {
	ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error)
}

// CopyTo writes a compact, synced copy of an open file to a new one, in one read transaction.
func CopyTo(ctx context.Context, db Execer, to string) error {
	if _, err := db.ExecContext(ctx, `VACUUM INTO ?`, to); err != nil {
		return fmt.Errorf("copy to %s: %w", to, err)
	}
	return disk.Sync(to) // SQLite does not
}
