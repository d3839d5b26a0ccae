package exposure

import (
	"context"
	"crypto/rand"
	"database/sql"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	_ "github.com/mattn/go-sqlite3" // the driver
)

// schema of the state file. Heads are clustered by user, so that a flush in key
// order touches each page once; shards are appended by row number, eight to a
// page for small ones, and rewritten in place. With 16 KiB pages a head always fits
// its leaf, and neither a shard of 1,000 nor one of 10,000 keys wastes more than
// a few per cent of what it occupies.
const schema = `
PRAGMA page_size = 16384;
CREATE TABLE meta (name TEXT PRIMARY KEY, value BLOB NOT NULL) WITHOUT ROWID;
CREATE TABLE user (history TEXT NOT NULL, user TEXT NOT NULL, head BLOB NOT NULL,
	PRIMARY KEY (history, user)) WITHOUT ROWID;
CREATE TABLE shard (id INTEGER PRIMARY KEY, data BLOB NOT NULL);
CREATE TABLE quarantine (history TEXT NOT NULL, user TEXT NOT NULL, head BLOB NOT NULL, reason TEXT NOT NULL);
INSERT INTO meta VALUES ('format', '1'), ('applied', '0'), ('log', '');
`

// database is the state file: one writer, the flush, and a few readers.
type database struct {
	write *sql.DB  // one connection
	read  *sql.DB  // whatever is not a row by its key
	keyed *readers // rows by their keys
}

// readConnections is how many requests may read a row at once.
const readConnections = 8

func dsn(path string, options string) string {
	return "file:" + (&url.URL{Path: path}).EscapedPath() + "?" + options
}

// openDatabase opens the file, making it if there is none.
func openDatabase(ctx context.Context, path string, durability Durability, random io.Reader) (*database, error) {
	if err := createDatabase(ctx, path, random); err != nil {
		// database/sql may name only the transaction that the end of ctx has ended.
		return nil, fmt.Errorf("exposure: create %s: %w", path, errors.Join(err, ctx.Err()))
	}
	// A flush that is lost is replayed from the log, so NORMAL is enough where the
	// log itself may lose its end.
	sync := "FULL"
	if durability == Relaxed {
		sync = "NORMAL"
	}
	common := "_journal_mode=WAL&_busy_timeout=10000&_secure_delete=on&_synchronous=" + sync
	d := &database{}
	var err error
	if d.write, err = sql.Open("sqlite3", dsn(path, common+"&_txlock=immediate&_cache_size=-65536")); err != nil {
		return nil, fmt.Errorf("exposure: open %s: %w", path, err)
	}
	d.write.SetMaxOpenConns(1)
	toRead := dsn(path, common+"&_query_only=on&_cache_size=-8192")
	if d.read, err = sql.Open("sqlite3", toRead); err != nil {
		return nil, fmt.Errorf("exposure: open %s: %w", path, err)
	}
	d.read.SetMaxOpenConns(2)
	if _, err = d.write.ExecContext(ctx, "PRAGMA journal_size_limit = 67108864"); err == nil {
		d.keyed, err = openReaders(toRead, readConnections)
	}
	if err != nil {
		d.close()
		return nil, fmt.Errorf("exposure: open %s: %w", path, err)
	}
	return d, nil
}

// createDatabase makes the file, unless there is one. It gets its name when it is
// whole, so that who is ended meanwhile leaves none, not one without tables.
func createDatabase(ctx context.Context, path string, random io.Reader) error {
	if fi, err := os.Stat(path); err == nil && fi.Size() > 0 {
		return nil
	}
	begun := path + ".begun"
	for _, left := range []string{begun, begun + "-journal"} {
		if err := os.Remove(left); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	if err := writeSchema(ctx, begun, random); err != nil {
		return err
	}
	if err := os.Rename(begun, path); err != nil {
		return err
	}
	dir, err := os.Open(filepath.Dir(path))
	if err != nil {
		return err
	}
	return errors.Join(dir.Sync(), dir.Close())
}

// writeSchema writes the schema and the secret. Page size can only be chosen
// before the file is in WAL mode, hence a connection of its own.
func writeSchema(ctx context.Context, path string, random io.Reader) error {
	db, err := sql.Open("sqlite3", dsn(path, "_txlock=immediate"))
	if err != nil {
		return err
	}
	defer db.Close()
	db.SetMaxOpenConns(1)
	if _, err := db.ExecContext(ctx, "PRAGMA page_size = 16384"); err != nil {
		return err
	}
	tx, err := db.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer tx.Rollback()
	if _, err := tx.ExecContext(ctx, schema); err != nil {
		return err
	}
	if random == nil {
		random = rand.Reader
	}
	var secret [32]byte
	if _, err := io.ReadFull(random, secret[:]); err != nil {
		return err
	}
	if _, err := tx.ExecContext(ctx, "INSERT INTO meta VALUES ('secret', ?)", secret[:]); err != nil {
		return err
	}
	return tx.Commit()
}

func (d *database) close() error {
	var err error
	if d.keyed != nil {
		err = d.keyed.close()
	}
	return errors.Join(err, d.read.Close(), d.write.Close())
}

// meta reads one value of the meta table.
func (d *database) meta(ctx context.Context, name string) ([]byte, error) {
	var v []byte
	if err := d.read.QueryRowContext(ctx, "SELECT value FROM meta WHERE name = ?", name).Scan(&v); err != nil {
		return nil, fmt.Errorf("exposure: meta %s: %w", name, err)
	}
	return v, nil
}

// recover reads what a store needs before its first event.
func (d *database) recover(ctx context.Context) (secret [32]byte, logID string, applied uint64, lastShard int64, err error) {
	fail := func(err error) ([32]byte, string, uint64, int64, error) { return secret, "", 0, 0, err }
	format, err := d.meta(ctx, "format")
	if err != nil {
		return fail(err)
	}
	if err := checkFormat(string(format)); err != nil {
		return fail(fmt.Errorf("exposure: %w", err))
	}
	v, err := d.meta(ctx, "secret")
	if err != nil {
		return fail(err)
	}
	copy(secret[:], v)
	id, err := d.meta(ctx, "log")
	if err != nil {
		return fail(err)
	}
	if v, err = d.meta(ctx, "applied"); err != nil {
		return fail(err)
	}
	if applied, err = strconv.ParseUint(string(v), 10, 64); err != nil {
		return fail(fmt.Errorf("exposure: meta applied: %w", err))
	}
	var last sql.NullInt64
	if err := d.read.QueryRowContext(ctx, "SELECT max(id) FROM shard").Scan(&last); err != nil {
		return fail(fmt.Errorf("exposure: last shard: %w", err))
	}
	return secret, string(id), applied, last.Int64, nil
}

func checkFormat(format string) error {
	if format != strconv.Itoa(formatVersion) {
		return fmt.Errorf("the state file has format %s, and this program reads %d: start the jianguo that wrote it", format, formatVersion)
	}
	return nil
}

// routed is the highest origin of an entry that was routed here.
func (d *database) routed(ctx context.Context) (uint64, error) {
	v, err := d.meta(ctx, "routed")
	if errors.Is(err, sql.ErrNoRows) {
		return 0, nil
	}
	if err != nil {
		return 0, err
	}
	return strconv.ParseUint(string(v), 10, 64)
}

// setApplied moves the watermark outside a flush: the log turned out to be another
// one, or to have lost its end.
func (d *database) setApplied(ctx context.Context, logID string, applied uint64) error {
	_, err := d.write.ExecContext(ctx,
		"UPDATE meta SET value = CASE name WHEN 'log' THEN ? ELSE ? END WHERE name IN ('log', 'applied')",
		logID, strconv.FormatUint(applied, 10))
	if err == nil {
		_, err = d.write.ExecContext(ctx, "DELETE FROM meta WHERE name = 'routed'") // those sequences come again
	}
	if err != nil {
		return fmt.Errorf("exposure: set applied: %w", err)
	}
	return nil
}

// address is a user in a history: the key of its row and of its entry.
func address(history, user string) string { return history + "\x00" + user }

func splitAddress(addr string) (history, user string) {
	history, user, _ = strings.Cut(addr, "\x00")
	return history, user
}

// rows reads heads and shards, by the readers' connections or a transaction's.
type rows struct {
	ctx context.Context
	by  rowReader
}

// rowReader reads a row by its key; ok is false where there is none. The bytes are the
// caller's.
type rowReader interface {
	readHead(ctx context.Context, history, user string) (b []byte, ok bool, err error)
	readShard(ctx context.Context, id int64) (b []byte, ok bool, err error)
}

// txRows reads inside a transaction, and sees what that has written.
type txRows struct{ head, shard *sql.Stmt }

func (t *txRows) readHead(ctx context.Context, history, user string) ([]byte, bool, error) {
	return scanOne(t.head.QueryRowContext(ctx, history, user))
}

func (t *txRows) readShard(ctx context.Context, id int64) ([]byte, bool, error) {
	return scanOne(t.shard.QueryRowContext(ctx, id))
}

func scanOne(row *sql.Row) (b []byte, ok bool, err error) {
	err = row.Scan(&b)
	if errors.Is(err, sql.ErrNoRows) {
		return nil, false, nil
	}
	return b, err == nil, err
}

// load is the state of an address, without the words of its shards.
func (r *rows) load(addr string) (*state, error) {
	history, user := splitAddress(addr)
	b, ok, err := r.by.readHead(r.ctx, history, user)
	if err != nil {
		return nil, fmt.Errorf("exposure: read user %q: %w", user, err)
	}
	if !ok {
		return &state{}, nil
	}
	s, err := decodeHead(b, addr)
	if err != nil {
		return nil, fmt.Errorf("user %q: %w", user, err)
	}
	return s, nil
}

// fetch is a fetcher.
func (r *rows) fetch(shards []*shard) error {
	for _, sh := range shards {
		b, ok, err := r.by.readShard(r.ctx, sh.id)
		switch {
		case err != nil:
			return fmt.Errorf("exposure: read shard %d: %w", sh.id, err)
		case !ok:
			return fmt.Errorf("exposure: shard %d is missing: %w", sh.id, ErrCorrupt)
		}
		if err := decodeShard(b, sh); err != nil {
			return err
		}
	}
	return nil
}

func (d *database) rows(ctx context.Context) *rows { return &rows{ctx, d.keyed} }
