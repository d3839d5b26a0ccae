package exposure

import (
	"cmp"
	"context"
	"crypto/rand"
	"database/sql"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"time"

	_ "github.com/mattn/go-sqlite3" // the driver

	"jianguo/exposure/redis"
	"jianguo/exposure/state"
	"jianguo/internal/clock"
	"jianguo/internal/disk"
	"jianguo/internal/must"
	"jianguo/internal/sqlite"
	"jianguo/internal/wrap"
)

const fileFormat = "1"

// schema of the state file. Heads are clustered by user, so that a flush in key
// order touches each page once. With 16 KiB pages a head always fits its leaf, and shards waste a few
// per cent of what they occupy.
const fileSchema = `
CREATE TABLE meta (name TEXT PRIMARY KEY, value BLOB NOT NULL) WITHOUT ROWID;
CREATE TABLE user (history TEXT NOT NULL, user TEXT NOT NULL, head BLOB NOT NULL,
	PRIMARY KEY (history, user)) WITHOUT ROWID;
CREATE TABLE shard (id INTEGER PRIMARY KEY, data BLOB NOT NULL);
CREATE TABLE quarantine (history TEXT NOT NULL, user TEXT NOT NULL, head BLOB NOT NULL, reason TEXT NOT NULL);
INSERT INTO meta VALUES ('format', '` + fileFormat + `'), ('applied', '0'), ('log', '');
`

// FileDSN is the data source of a state file, with options of the driver.
func FileDSN(path string, options string) string {
	return "file:" + (&url.URL{Path: path}).EscapedPath() + "?" + options
}

// CreateFile creates the file, unless there is one. It gets its name when it is
// complete, so that a process that is killed meanwhile leaves no file without tables.
func CreateFile(ctx context.Context, path string, random io.Reader) error {
	if fi, err := os.Stat(path); err == nil && fi.Size() > 0 {
		return nil
	}
	return must.Catch(func() {
		begun := path + ".begun"
		must.Do(errors.Join(os.RemoveAll(begun), os.RemoveAll(begun+"-journal")))
		writeSchema(ctx, begun, random)
		must.Do(os.Rename(begun, path))
		must.Do(disk.Sync(filepath.Dir(path)))
	})
}

// writeSchema writes the schema and the secret. Page size can only be chosen
// before the file is in WAL mode, hence a connection of its own. It panics on errors (must).
func writeSchema(ctx context.Context, path string, random io.Reader) {
	db := must.Get(sql.Open("sqlite3", FileDSN(path, "")))
	defer db.Close()
	db.SetMaxOpenConns(1)
	must.Get(db.ExecContext(ctx, "PRAGMA page_size = 16384; BEGIN IMMEDIATE;"+fileSchema))
	var secret [32]byte
	must.Get(io.ReadFull(cmp.Or(random, rand.Reader), secret[:]))
	must.Get(db.ExecContext(ctx, "INSERT INTO meta VALUES ('secret', ?); COMMIT", secret[:]))
}

// FileMeta reads the values of the meta table by name, and checks the format.
func FileMeta(ctx context.Context, from sqlite.Querier) (map[string]string, error) {
	values, err := must.Try(func() map[string]string {
		return maps.Collect(sqlite.Pairs[string, string](ctx, from, "SELECT name, value FROM meta"))
	})
	if err != nil {
		return nil, fmt.Errorf("exposure: meta: %w", err)
	}
	if f := values["format"]; f != fileFormat {
		return nil, fmt.Errorf("the state file has format %s, and this program reads %s: "+
			"start the jianguo that wrote it", f, fileFormat)
	}
	return values, nil
}

// CopyFile copies a state file, which may be in use, to another place: as it stood at one moment, synced. It waits
// until the file holds every event up to a sequence of the log; 0 does not wait.
func CopyFile(ctx context.Context, path, to string, seq uint64) error {
	return wrap.Err(must.Catch(func() {
		db := must.Get(sql.Open("sqlite3", FileDSN(path, "_busy_timeout=10000")))
		defer db.Close()
		for {
			n := must.Get(strconv.ParseUint(must.Get(FileMeta(ctx, db))["applied"], 10, 64))
			if n >= seq {
				break
			}
			must.Dof(clock.Sleep(ctx, 50*time.Millisecond), "it holds events up to %d of %d", n, seq)
		}
		must.Do(sqlite.CopyTo(ctx, db, to))
	}), "exposure: backup of %s", path)
}

// database is the state file: one writer, the flush, and a few readers.
type database struct {
	write *sql.DB // one connection
	read  *sql.DB
	slots chan struct{} // one for each row being read by its key
}

// readConnections is how many requests may read a row at once.
const readConnections = 8

// openDatabase opens the file, which it creates if there is none.
func openDatabase(ctx context.Context, path string, relaxed bool, random io.Reader) (*database, error) {
	if err := CreateFile(ctx, path, random); err != nil {
		// database/sql may name only the transaction that the end of ctx has ended.
		return nil, fmt.Errorf("exposure: create %s: %w", path, errors.Join(err, ctx.Err()))
	}
	// A lost flush is replayed from the log, so NORMAL is enough where the log itself may
	// lose its end.
	sync := "FULL"
	if relaxed {
		sync = "NORMAL"
	}
	// A connection keeps the statements that it has run lately, and makes no empty file in place of one that was
	// removed.
	common := "mode=rw&_journal_mode=WAL&_busy_timeout=10000&_secure_delete=on&_stmt_cache_size=32&_synchronous=" + sync
	d := &database{slots: make(chan struct{}, readConnections)}
	err := must.Catch(func() {
		d.write = must.Get(sql.Open("sqlite3", FileDSN(path, common+"&_txlock=immediate&_cache_size=-65536")))
		d.write.SetMaxOpenConns(1)
		d.read = must.Get(sql.Open("sqlite3", FileDSN(path, common+"&_query_only=on&_cache_size=-8192")))
		d.read.SetMaxOpenConns(readConnections + 2) // those of the sweep and of meta
		d.read.SetMaxIdleConns(readConnections + 2)
		must.Get(d.write.ExecContext(ctx, "PRAGMA journal_size_limit = 67108864"))
	})
	if err != nil {
		return nil, fmt.Errorf("exposure: open %s: %w", path, errors.Join(err, d.close()))
	}
	return d, nil
}

func (d *database) close() error { return errors.Join(d.read.Close(), d.write.Close()) }

// putLog moves the watermark outside a flush: the log is another one, or has lost its end.
const putLog = "UPDATE meta SET value = CASE name WHEN 'log' THEN ? ELSE ? END WHERE name IN ('log', 'applied')"

// putMeta writes what a flush keeps for the next start: the last entry applied, when it was logged (missing in earlier
// files), and the time by which data expired last.
const putMeta = "INSERT INTO meta VALUES (?, ?) ON CONFLICT DO UPDATE SET value = excluded.value"

// readBlob calls use with the only value of a query for a key, whose bytes are valid during the call. found is
// false where there is none. At most readConnections do so at once; others wait, no longer than ctx.
func (d *database) readBlob(ctx context.Context, use func([]byte) error, query string, key ...any) (
	found bool, err error) {
	select {
	case d.slots <- struct{}{}:
	case <-ctx.Done():
		return false, ctx.Err()
	}
	defer func() { <-d.slots }()
	// With a context that can end, database/sql and the driver each start a goroutine a
	// query. A row is read sooner than they could interrupt it.
	err = sqlite.Each(context.WithoutCancel(ctx), d.read, query, func(q *sql.Rows) error {
		var b sql.RawBytes
		if err := q.Scan(&b); err != nil {
			return err
		}
		found = true
		return errors.Join(use(b), ctx.Err())
	}, key...)
	return found, err
}

// load is the state of an address, without its shards.
func (d *database) load(ctx context.Context, addr state.Address) (*state.State, error) {
	s := &state.State{}
	_, err := d.readBlob(ctx, func(b []byte) (err error) {
		s, err = state.DecodeHead(b, addr)
		return err
	}, "SELECT head FROM user WHERE history = ? AND user = ?", addr.History, addr.User)
	return s, wrap.Err(err, "exposure: read user %q", addr.User)
}

func (d *database) fetch(ctx context.Context) state.Fetcher {
	return func(shards []*state.Shard) error {
		for _, sh := range shards {
			decode := func(b []byte) error { return state.DecodeShard(b, sh) }
			found, err := d.readBlob(ctx, decode, "SELECT data FROM shard WHERE id = ?", sh.ID())
			switch {
			case err != nil:
				return fmt.Errorf("exposure: read shard %d: %w", sh.ID(), err)
			case !found:
				return fmt.Errorf("exposure: shard %d is missing: %w", sh.ID(), ErrCorrupt)
			}
		}
		return nil
	}
}

// VerifyFile reads a whole state file and returns an error that joins everything it finds
// wrong: pages that SQLite reports damaged, heads and shards that do not decode, shards that
// are missing, shared or orphaned, or have more bits set than their count allows. A store may
// be open on the file meanwhile.
func VerifyFile(ctx context.Context, path string) (state.Report, error) {
	v := redis.NewVerifier()
	err := must.Catch(func() {
		db := must.Get(sql.Open("sqlite3", FileDSN(path, "mode=rw&_query_only=on&_busy_timeout=10000")))
		defer db.Close()
		db.SetMaxOpenConns(1)
		tx := must.Get(db.BeginTx(ctx, &sql.TxOptions{ReadOnly: true}))
		defer tx.Rollback()
		for _, msg := range must.Get(sqlite.Column[string](ctx, tx, "PRAGMA integrity_check")) {
			if msg != "ok" {
				v.Say("sqlite: %s", msg)
			}
		}
		meta := must.Get(FileMeta(ctx, tx))
		if _, err := strconv.ParseUint(meta["applied"], 10, 64); err != nil {
			v.Say("meta applied: %w", err)
		}
		if n := len(meta["secret"]); n != 32 {
			v.Say("meta secret has %d bytes", n)
		}
		for row := range sqlite.Rows(ctx, tx, "SELECT history, user, head FROM user") {
			f, _ := recordOf(ctx, tx, row)
			v.Record(f)
		}
		var all int // those of forgotten users included
		const rows = "SELECT count(nullif(user, '')), count(*) FROM quarantine"
		must.Do(tx.QueryRowContext(ctx, rows).Scan(&v.Quarantined, &all))
		for _, id := range must.Get(sqlite.Column[int64](ctx, tx, "SELECT id FROM shard")) {
			if !v.Owned(id) && all == 0 { // a quarantined head does not name its shards
				v.Say("shard %d belongs to no user", id)
			}
		}
		must.Do(errors.Join(v.Wrong...))
	})
	return v.Report, wrap.Err(err, "exposure: verify %s", path)
}

// recordOf is a row of the table user with its shards, as a Redis would have it; Err says why it is none. It panics on
// errors (must).
func recordOf(ctx context.Context, db sqlite.Querier, row *sql.Rows) (f redis.Found, st *state.State) {
	f.Record = &redis.Record{Version: redis.Moved, Stored: redis.Moved.String(), Shards: map[int64][]byte{}}
	must.Do(row.Scan(&f.History, &f.User, &f.Head))
	if st, f.Err = state.DecodeHead(f.Head, f.Address); f.Err != nil {
		return f, nil
	}
	for _, sh := range st.Shards() {
		var data []byte
		err := db.QueryRowContext(ctx, "SELECT data FROM shard WHERE id = ?", sh.ID()).Scan(&data)
		if errors.Is(err, sql.ErrNoRows) {
			continue // which the reader of the record finds
		}
		must.Dof(err, "user %q: shard %d", f.User, sh.ID())
		f.Shards[sh.ID()] = data
	}
	return f, st
}
