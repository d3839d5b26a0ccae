package exposure

import (
	"context"
	"database/sql"
	"errors"
	"strconv"

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
	v := &verifier{ctx: ctx, owner: map[int64]shardRef{}}
	err := must.Catch(func() {
		db := must.Get(sql.Open("sqlite3", FileDSN(path, "mode=rw&_query_only=on&_busy_timeout=10000")))
		defer db.Close()
		db.SetMaxOpenConns(1)
		v.tx = must.Get(db.BeginTx(ctx, &sql.TxOptions{ReadOnly: true}))
		defer v.tx.Rollback()
		v.pages()
		v.meta()
		v.heads()
		v.shards()
		must.Do(errors.Join(v.Wrong...))
	})
	return v.Report, wrap.Err(err, "exposure: verify %s", path)
}

type shardRef struct {
	addr string
	state.Shard
}

// verifier verifies a state file. Package must ends its methods.
type verifier struct {
	state.Findings
	ctx   context.Context
	tx    *sql.Tx
	owner map[int64]shardRef
}

func (v *verifier) pages() {
	for _, msg := range must.Get(sqlite.Column[string](v.ctx, v.tx, "PRAGMA integrity_check")) {
		if msg != "ok" {
			v.Say("sqlite: %s", msg)
		}
	}
}

func (v *verifier) meta() {
	meta := must.Get(FileMeta(v.ctx, v.tx))
	if _, err := strconv.ParseUint(meta["applied"], 10, 64); err != nil {
		v.Say("meta applied: %w", err)
	}
	if n := len(meta["secret"]); n != 32 {
		v.Say("meta secret has %d bytes", n)
	}
	must.Do(v.tx.QueryRowContext(v.ctx, "SELECT count(*) FROM quarantine").Scan(&v.Quarantined))
}

func (v *verifier) heads() {
	for rows := range sqlite.Rows(v.ctx, v.tx, "SELECT history, user, head FROM user") {
		var history, user string
		var head sql.RawBytes
		must.Do(rows.Scan(&history, &user, &head))
		v.Users++
		addr := state.Address(history, user)
		st, err := state.DecodeHead(head, addr)
		if err != nil {
			v.Say("user %q: %w", addr, err)
			continue
		}
		for _, sh := range st.Shards() {
			if old, ok := v.owner[sh.ID()]; ok {
				v.Say("shard %d belongs to %q and to %q", sh.ID(), old.addr, addr)
			}
			v.owner[sh.ID()] = shardRef{addr, sh}
		}
	}
}

func (v *verifier) shards() {
	for id, data := range sqlite.Pairs[int64, sql.RawBytes](v.ctx, v.tx, "SELECT id, data FROM shard") {
		v.Shards++
		ref, ok := v.owner[id]
		if !ok {
			if v.Quarantined == 0 { // a quarantined head does not name its shards
				v.Say("shard %d belongs to no user", id)
			}
			continue
		}
		delete(v.owner, id)
		if err := ref.Verify(data); err != nil {
			v.Say("user %q: %w", ref.addr, err)
		}
	}
	for id, ref := range v.owner {
		v.Say("user %q: shard %d is missing", ref.addr, id)
	}
}
