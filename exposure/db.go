package exposure

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io"
	"strconv"
	"time"

	"jianguo/exposure/state"
	"jianguo/internal/must"
	"jianguo/internal/sqlite"
	"jianguo/internal/steady"
	"jianguo/internal/wrap"
)

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
	var err error
	if d.write, err = sql.Open("sqlite3", FileDSN(path, common+"&_txlock=immediate&_cache_size=-65536")); err != nil {
		return nil, fmt.Errorf("exposure: open %s: %w", path, err)
	}
	d.write.SetMaxOpenConns(1)
	if d.read, err = sql.Open("sqlite3", FileDSN(path, common+"&_query_only=on&_cache_size=-8192")); err != nil {
		return nil, fmt.Errorf("exposure: open %s: %w", path, err)
	}
	d.read.SetMaxOpenConns(readConnections + 2) // those of the sweep and of meta
	d.read.SetMaxIdleConns(readConnections + 2)
	if _, err = d.write.ExecContext(ctx, "PRAGMA journal_size_limit = 67108864"); err != nil {
		d.close()
		return nil, fmt.Errorf("exposure: open %s: %w", path, err)
	}
	return d, nil
}

func (d *database) close() error { return errors.Join(d.read.Close(), d.write.Close()) }

// recover reads what a store needs before its first event. Package must ends it, setApplied and resumeClock.
func (d *database) recover(ctx context.Context) (secret [32]byte, logID string, applied uint64, lastShard int64) {
	must.Dof(must.Catch(func() {
		meta := must.Get(FileMeta(ctx, d.read))
		if n := copy(secret[:], meta["secret"]); n != len(secret) || n != len(meta["secret"]) {
			must.Do(fmt.Errorf("exposure: meta secret has %d bytes: %w", len(meta["secret"]), ErrCorrupt))
		}
		logID, applied = meta["log"], must.Get(strconv.ParseUint(meta["applied"], 10, 64))
		must.Do(d.read.QueryRowContext(ctx, "SELECT coalesce(max(id), 0) FROM shard").Scan(&lastShard))
	}), "exposure: read the state file")
	return secret, logID, applied, lastShard
}

// putLog moves the watermark outside a flush: the log is another one, or has lost its end.
const putLog = "UPDATE meta SET value = CASE name WHEN 'log' THEN ? ELSE ? END WHERE name IN ('log', 'applied')"

func (d *database) setApplied(ctx context.Context, logID string, applied uint64) {
	_, err := d.write.ExecContext(ctx, putLog, logID, strconv.FormatUint(applied, 10))
	must.Dof(err, "exposure: set applied")
}

// putClock keeps the time by which data expired last, for the next start.
const putClock = "INSERT INTO meta VALUES ('clock', ?) ON CONFLICT DO UPDATE SET value = excluded.value"

// resumeClock tells a clock that time.
func (d *database) resumeClock(ctx context.Context, clock *steady.Clock) {
	meta := must.Get(FileMeta(ctx, d.read))
	if last, err := strconv.ParseInt(meta["clock"], 10, 64); err == nil {
		clock.Resume(time.Unix(last, 0))
	}
}

// rows reads heads and shards, at most readConnections at once; others wait, no longer than ctx.
type rows struct {
	ctx context.Context
	*database
}

func (d *database) rows(ctx context.Context) *rows { return &rows{ctx, d} }

// one calls use with the only value of a query for a key, whose bytes are valid during the call. found is
// false where there is none.
func (r *rows) one(use func([]byte) error, query string, key ...any) (found bool, err error) {
	select {
	case r.slots <- struct{}{}:
	case <-r.ctx.Done():
		return false, r.ctx.Err()
	}
	defer func() { <-r.slots }()
	// With a context that can end, database/sql and the driver each start a goroutine a
	// query. A row is read sooner than they could interrupt it.
	err = sqlite.Each(context.WithoutCancel(r.ctx), r.read, query, func(q *sql.Rows) error {
		var b sql.RawBytes
		if err := q.Scan(&b); err != nil {
			return err
		}
		found = true
		return errors.Join(use(b), r.ctx.Err())
	}, key...)
	return found, err
}

// load is the state of an address, without its shards.
func (r *rows) load(addr state.Address) (*state.State, error) {
	s := &state.State{}
	_, err := r.one(func(b []byte) (err error) {
		s, err = state.DecodeHead(b, addr)
		return err
	}, "SELECT head FROM user WHERE history = ? AND user = ?", addr.History, addr.User)
	return s, wrap.Err(err, "exposure: read user %q", addr.User)
}

// fetch is a state.Fetcher.
func (r *rows) fetch(shards []*state.Shard) error {
	for _, sh := range shards {
		decode := func(b []byte) error { return state.DecodeShard(b, sh) }
		found, err := r.one(decode, "SELECT data FROM shard WHERE id = ?", sh.ID())
		switch {
		case err != nil:
			return fmt.Errorf("exposure: read shard %d: %w", sh.ID(), err)
		case !found:
			return fmt.Errorf("exposure: shard %d is missing: %w", sh.ID(), ErrCorrupt)
		}
	}
	return nil
}
