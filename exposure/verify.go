package exposure

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strconv"

	"jianguo/exposure/state"
	"jianguo/internal/sqlite"
)

// VerifyFile reads a whole state file and returns an error that joins everything it finds
// wrong: pages that SQLite reports damaged, heads and shards that do not decode, shards that
// are missing, shared or orphaned, or have more bits set than their count allows. A store may
// be open on the file meanwhile.
func VerifyFile(ctx context.Context, path string) (state.Report, error) {
	v := &verifier{ctx: ctx, owner: map[int64]shardRef{}}
	if err := v.verify(path); err != nil {
		return v.Report, fmt.Errorf("exposure: verify %s: %w", path, err)
	}
	return v.Report, nil
}

func (v *verifier) verify(path string) error {
	db, err := sql.Open("sqlite3", FileDSN(path, "mode=rw&_query_only=on&_busy_timeout=10000"))
	if err != nil {
		return err
	}
	defer db.Close()
	db.SetMaxOpenConns(1)
	if v.tx, err = db.BeginTx(v.ctx, &sql.TxOptions{ReadOnly: true}); err != nil {
		return err
	}
	defer v.tx.Rollback()
	for _, step := range []func() error{v.pages, v.meta, v.heads, v.shards} {
		if err := step(); err != nil {
			return err
		}
	}
	return errors.Join(v.Wrong...)
}

type shardRef struct {
	addr string
	state.Shard
}

type verifier struct {
	state.Findings
	ctx   context.Context
	tx    *sql.Tx
	owner map[int64]shardRef
}

func (v *verifier) pages() error {
	found, err := sqlite.Column[string](v.ctx, v.tx, "PRAGMA integrity_check")
	for _, msg := range found {
		if msg != "ok" {
			v.Say("sqlite: %s", msg)
		}
	}
	return err
}

func (v *verifier) meta() error {
	meta, err := FileMeta(v.ctx, v.tx)
	if err != nil {
		return err
	}
	if _, err := strconv.ParseUint(meta["applied"], 10, 64); err != nil {
		v.Say("meta applied: %w", err)
	}
	if n := len(meta["secret"]); n != 32 {
		v.Say("meta secret has %d bytes", n)
	}
	return v.tx.QueryRowContext(v.ctx, "SELECT count(*) FROM quarantine").Scan(&v.Quarantined)
}

func (v *verifier) heads() error {
	return sqlite.Each(v.ctx, v.tx, "SELECT history, user, head FROM user", func(rows *sql.Rows) error {
		var history, user string
		var head sql.RawBytes
		if err := rows.Scan(&history, &user, &head); err != nil {
			return err
		}
		v.Users++
		addr := state.Address(history, user)
		st, err := state.DecodeHead(head, addr)
		if err != nil {
			v.Say("user %q: %w", addr, err)
			return nil
		}
		for _, sh := range st.Shards() {
			if old, ok := v.owner[sh.ID()]; ok {
				v.Say("shard %d belongs to %q and to %q", sh.ID(), old.addr, addr)
			}
			v.owner[sh.ID()] = shardRef{addr, sh}
		}
		return nil
	})
}

func (v *verifier) shards() error {
	err := sqlite.Each(v.ctx, v.tx, "SELECT id, data FROM shard", func(rows *sql.Rows) error {
		var id int64
		var data sql.RawBytes
		if err := rows.Scan(&id, &data); err != nil {
			return err
		}
		v.Shards++
		ref, ok := v.owner[id]
		if !ok {
			if v.Quarantined == 0 { // a quarantined head does not name its shards
				v.Say("shard %d belongs to no user", id)
			}
			return nil
		}
		delete(v.owner, id)
		if err := ref.Verify(data); err != nil {
			v.Say("user %q: %w", ref.addr, err)
		}
		return nil
	})
	for id, ref := range v.owner {
		v.Say("user %q: shard %d is missing", ref.addr, id)
	}
	return err
}
