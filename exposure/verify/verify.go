// Package verify checks that users' histories are whole, in a file or in a Redis. The service does not link it.
package verify

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strconv"

	"jianguo/exposure/state"
	"jianguo/exposure/statefile"
	"jianguo/internal/sqlite"
)

// Report is what File or Redis counted.
type Report struct {
	Users, Shards, Quarantined int64
	Forgotten                  int64 `json:",omitempty"` // records in a Redis without a history
}

// File reads a whole state file and returns an error that joins everything it finds
// wrong: pages that SQLite reports damaged, heads and shards that do not decode, shards that
// are missing, shared or orphaned, or have more bits set than their count allows. A store may
// be open on the file meanwhile.
func File(ctx context.Context, path string) (Report, error) {
	var rep Report
	db, err := sql.Open("sqlite3", statefile.DSN(path, "mode=ro&_query_only=on&_busy_timeout=10000"))
	if err != nil {
		return rep, fmt.Errorf("exposure: verify %s: %w", path, err)
	}
	defer db.Close()
	db.SetMaxOpenConns(1)
	tx, err := db.BeginTx(ctx, &sql.TxOptions{ReadOnly: true})
	if err != nil {
		return rep, fmt.Errorf("exposure: verify %s: %w", path, err)
	}
	defer tx.Rollback()
	v := &verifier{ctx: ctx, tx: tx, owner: map[int64]shardRef{}, findings: findings{rep: &rep}}
	for _, step := range []func() error{v.pages, v.meta, v.heads, v.shards} {
		if err := step(); err != nil {
			return rep, fmt.Errorf("exposure: verify %s: %w", path, err)
		}
	}
	if v.wrong != nil {
		return rep, fmt.Errorf("exposure: verify %s: %w", path, errors.Join(v.wrong...))
	}
	return rep, nil
}

type shardRef struct {
	addr string
	state.Shard
}

// findings are what has been counted, and what is wrong.
type findings struct {
	rep   *Report
	wrong []error
}

// say records a defect; a hundred are enough to act on.
func (f *findings) say(format string, args ...any) {
	if len(f.wrong) < 100 {
		f.wrong = append(f.wrong, fmt.Errorf(format, args...))
	}
}

// check returns what is wrong with the bytes of a shard, which its head describes.
func check(sh state.Shard, data []byte) error {
	if err := state.DecodeShard(data, &sh); err != nil {
		return err
	}
	return sh.Check()
}

type verifier struct {
	findings
	ctx   context.Context
	tx    *sql.Tx
	owner map[int64]shardRef
}

func (v *verifier) pages() error {
	found, err := sqlite.Column[string](v.ctx, v.tx, "PRAGMA integrity_check")
	for _, msg := range found {
		if msg != "ok" {
			v.say("sqlite: %s", msg)
		}
	}
	return err
}

func (v *verifier) meta() error {
	meta, err := statefile.Meta(v.ctx, v.tx)
	if err != nil {
		return err
	}
	if _, err := strconv.ParseUint(meta["applied"], 10, 64); err != nil {
		v.say("meta applied: %w", err)
	}
	if n := len(meta["secret"]); n != 32 {
		v.say("meta secret has %d bytes", n)
	}
	return v.tx.QueryRowContext(v.ctx, "SELECT count(*) FROM quarantine").Scan(&v.rep.Quarantined)
}

func (v *verifier) heads() error {
	return sqlite.Each(v.ctx, v.tx, "SELECT history, user, head FROM user", func(rows *sql.Rows) error {
		var history, user string
		var head sql.RawBytes
		if err := rows.Scan(&history, &user, &head); err != nil {
			return err
		}
		v.rep.Users++
		addr := state.Address(history, user)
		st, err := state.DecodeHead(head, addr)
		if err != nil {
			v.say("user %q: %w", addr, err)
			return nil
		}
		for _, sh := range st.Shards() {
			if old, ok := v.owner[sh.ID()]; ok {
				v.say("shard %d belongs to %q and to %q", sh.ID(), old.addr, addr)
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
		v.rep.Shards++
		ref, ok := v.owner[id]
		if !ok {
			if v.rep.Quarantined == 0 { // a quarantined head does not name its shards
				v.say("shard %d belongs to no user", id)
			}
			return nil
		}
		delete(v.owner, id)
		if err := check(ref.Shard, data); err != nil {
			v.say("user %q: %w", ref.addr, err)
		}
		return nil
	})
	for id, ref := range v.owner {
		v.say("user %q: shard %d is missing", ref.addr, id)
	}
	return err
}
