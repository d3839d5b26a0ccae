package exposure

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strconv"

	"jianguo/exposure/statefile"
	"jianguo/internal/sqlite"
)

// CopyTo writes a compact copy of the state file to a new file, also if the state file has
// been removed. It holds what has been flushed.
func (s *Store) CopyTo(ctx context.Context, path string) error {
	return sqlite.CopyTo(ctx, s.db.write, path)
}

// Report is what Verify counted.
type Report struct{ Users, Shards, Quarantined int64 }

// Verify reads a whole state file and returns an error that joins everything it finds
// wrong: pages that SQLite reports damaged, heads and shards that do not decode, shards that
// are missing, shared or orphaned, or have more bits set than their count allows. A store may
// be open on the file meanwhile.
func Verify(ctx context.Context, path string) (Report, error) {
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
	v := &verifier{ctx: ctx, tx: tx, rep: &rep, owner: map[int64]shardRef{}}
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
	addr  string
	shard shard
}

type verifier struct {
	ctx   context.Context
	tx    *sql.Tx
	rep   *Report
	owner map[int64]shardRef
	wrong []error
}

// say records a defect; a hundred are enough to act on.
func (v *verifier) say(format string, args ...any) {
	if len(v.wrong) < 100 {
		v.wrong = append(v.wrong, fmt.Errorf(format, args...))
	}
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
	meta, err := readMeta(v.ctx, v.tx)
	if err == nil {
		err = checkFormat(meta["format"])
	}
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
		addr := address(history, user)
		st, err := decodeHead(head, addr)
		if err != nil {
			v.say("user %q: %w", addr, err)
			return nil
		}
		for _, sh := range st.shards {
			if old, ok := v.owner[sh.id]; ok {
				v.say("shard %d belongs to %q and to %q", sh.id, old.addr, addr)
			}
			v.owner[sh.id] = shardRef{addr, sh}
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
		sh := ref.shard
		if err := decodeShard(data, &sh); err != nil {
			v.say("user %q: %w", ref.addr, err)
			return nil
		}
		set := int(sh.filter.BitSet().Count())
		if set > int(sh.count)*int(sh.k) || (sh.count > 0) != (set > 0) {
			v.say("user %q: shard %d has %d bits set for %d keys of %d", ref.addr, id, set, sh.count, sh.k)
		}
		return nil
	})
	for id, ref := range v.owner {
		v.say("user %q: shard %d is missing", ref.addr, id)
	}
	return err
}
