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

// CheckHeader returns an error if bytes of a file's header that this program never changes are others: SQLite does not
// notice all of these. (https://sqlite.org/fileformat2.html#the_database_header)
func CheckHeader(path string) error {
	b, err := header(path)
	if err != nil {
		return nil // none, or not of SQLite, which says so
	}
	same := func(at int, want ...byte) bool { return bytes.Equal(b[at:at+len(want)], want) }
	wal := same(18, 2, 2) || same(18, 1, 1)                 // or a copy that is not opened yet
	schema := same(44, 0, 0, 0, 4) || same(44, 0, 0, 0, 0)  // or the first table is still in the log
	encoding := same(52, 0, 0, 0, 0, 0, 0, 0) && b[59] <= 1 // likewise
	if wal && schema && encoding && same(20, 0, 64, 32, 32) && same(64, make([]byte, 28)...) {
		return nil
	}
	return fmt.Errorf("%s: its header %w", path, ErrSum)
}

// Format reads the format that Create wrote, from the header of the file: opening a database may write to it. It
// returns false for a file that is missing, or is none of SQLite.
func Format(path string) (format uint32, ok bool) {
	b, err := header(path)
	if err != nil {
		return 0, false
	}
	return binary.BigEndian.Uint32(b[60:]), true
}

func header(path string) (b []byte, err error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	b = make([]byte, 100)
	if _, err = io.ReadFull(f, b); err == nil && !bytes.HasPrefix(b, []byte("SQLite format 3\x00")) {
		err = errors.New("not of SQLite")
	}
	return b, err
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

// CopyTo writes a compact, synced copy of an open file to a new one, in one read transaction.
func CopyTo(ctx context.Context, db Querier, to string) error {
	if _, err := db.ExecContext(ctx, `VACUUM INTO ?`, to); err != nil {
		return fmt.Errorf("copy to %s: %w", to, err)
	}
	return disk.Sync(to) // SQLite does not
}
