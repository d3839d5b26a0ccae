package exposure

import (
	"context"
	"database/sql"
	"errors"
	"strconv"

	"jianguo/exposure/redis"
	"jianguo/exposure/state"
	"jianguo/internal/must"
	"jianguo/internal/sqlite"
	"jianguo/internal/wrap"
)

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
		must.Do(tx.QueryRowContext(ctx, "SELECT count(*) FROM quarantine").Scan(&v.Quarantined))
		for _, id := range must.Get(sqlite.Column[int64](ctx, tx, "SELECT id FROM shard")) {
			if !v.Owned(id) && v.Quarantined == 0 { // a quarantined head does not name its shards
				v.Say("shard %d belongs to no user", id)
			}
		}
		must.Do(errors.Join(v.Wrong...))
	})
	return v.Report, wrap.Err(err, "exposure: verify %s", path)
}

// recordOf is a row of the table user with its shards, as a Redis would have it; Err says why it is none. Package must
// ends it.
func recordOf(ctx context.Context, db sqlite.RowQuerier, row *sql.Rows) (f redis.Found, st *state.State) {
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
