package exposure

import (
	"bytes"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"time"

	"jianguo/exposure/redis"
	"jianguo/exposure/state"
	"jianguo/internal/disk"
	"jianguo/internal/sqlite"
)

// moveBatch is how many users are moved at once.
const moveBatch = 256

// Move is a move of histories between a state file and a Redis.
type Move struct {
	File     string
	Redis    *redis.Conn
	Kept     func(history string) time.Duration // how long a history stays after its last event
	Progress func(stage string, done, total int64)
}

// Import copies the histories of the file into the Redis, compares both, and gives the Redis the secret without which
// no service takes it. What a move before that was interrupted has written goes first. ready may refuse the file for
// what it says of itself.
func (m *Move) Import(ctx context.Context, ready func(meta map[string]string) error) (moved int64, err error) {
	db, err := sql.Open("sqlite3", FileDSN(m.File, "mode=ro&_query_only=on"))
	if err != nil {
		return 0, err
	}
	defer db.Close()
	meta, err := FileMeta(ctx, db)
	if err == nil {
		err = ready(meta)
	}
	if err != nil {
		return 0, err
	}
	secret, err := m.Redis.Secret(ctx, nil)
	switch {
	case err != nil:
		return 0, err
	case string(secret) == meta["secret"]:
		return 0, errors.New("the histories of this directory have been moved there before")
	case secret != nil:
		return 0, errors.New("the Redis holds the histories of another store: " +
			"give this fleet a Redis, or a --stream-prefix, of its own")
	}
	if err := m.Redis.Clear(ctx); err != nil {
		return 0, err
	}
	put := func(writes []redis.Write) error { return m.Redis.Put(ctx, writes) }
	if moved, err = m.rows(ctx, db, "moving", put); err != nil {
		return 0, fmt.Errorf("%w: run the command again", err)
	}
	compare := func(writes []redis.Write) error { return m.compare(ctx, writes) }
	if _, err = m.rows(ctx, db, "comparing", compare); err != nil {
		return 0, fmt.Errorf("compare: %w", err)
	}
	_, err = m.Redis.Secret(ctx, []byte(meta["secret"]))
	return moved, err
}

// rows calls use with all histories, some at a time, and returns their number.
func (m *Move) rows(ctx context.Context, db *sql.DB, what string, use func([]redis.Write) error) (n int64, err error) {
	const next = `SELECT history, user, head FROM user WHERE (history, user) > (?, ?)
		ORDER BY history, user LIMIT ?`
	var total int64
	if err := db.QueryRowContext(ctx, "SELECT count(*) FROM user").Scan(&total); err != nil {
		return 0, err
	}
	var last redis.Key
	for {
		var writes []redis.Write
		err := sqlite.Each(ctx, db, next, func(rows *sql.Rows) error {
			var w redis.Write
			w.Version = redis.Moved
			err := rows.Scan(&w.History, &w.User, &w.Head)
			writes = append(writes, w)
			return err
		}, last.History, last.User, moveBatch)
		if err != nil || len(writes) == 0 {
			return n, err
		}
		for i := range writes {
			if err := m.complete(ctx, db, &writes[i]); err != nil {
				return n, err
			}
		}
		if err := use(writes); err != nil {
			return n, err
		}
		n += int64(len(writes))
		m.Progress(what, n, total)
		last = writes[len(writes)-1].Key
	}
}

// complete adds the shards, and how long the history stays.
func (m *Move) complete(ctx context.Context, db *sql.DB, w *redis.Write) error {
	st, err := state.DecodeHead(w.Head, state.Address(w.History, w.User))
	if err != nil {
		return fmt.Errorf("user %q: %w: repair the directory first", w.User, err)
	}
	w.Shards = map[int64][]byte{}
	shards := st.Shards()
	for i := range shards {
		var data []byte
		row := db.QueryRowContext(ctx, "SELECT data FROM shard WHERE id = ?", shards[i].ID())
		if err := row.Scan(&data); err != nil {
			return fmt.Errorf("user %q: shard %d: %w", w.User, shards[i].ID(), err)
		}
		w.Shards[shards[i].ID()] = data
	}
	w.TTL = max(time.Until(time.Unix(st.Last(), 0).Add(m.Kept(w.History))), time.Hour)
	return nil
}

// compare returns an error if the Redis does not hold the same bytes.
func (m *Move) compare(ctx context.Context, writes []redis.Write) error {
	var keys []redis.Key
	for _, w := range writes {
		keys = append(keys, w.Key)
	}
	found, err := m.Redis.Read(ctx, false, keys...)
	if err != nil {
		return err
	}
	for i, w := range writes {
		if f := found[i]; f.Err != nil || !bytes.Equal(f.Head, w.Head) ||
			!maps.EqualFunc(f.Shards, w.Shards, slices.Equal) {
			return fmt.Errorf("user %q: the Redis does not hold what was written; is something else writing to it?",
				w.User)
		}
	}
	return nil
}

// Export makes a state file of what the Redis holds beside that of the move, and returns its name and the number of
// histories in it.
func (m *Move) Export(ctx context.Context) (fresh string, users int64, err error) {
	secret, err := m.Redis.Secret(ctx, nil)
	if err != nil {
		return "", 0, err
	}
	if secret == nil {
		return "", 0, errors.New("the Redis holds no histories")
	}
	old, err := m.watermark(ctx)
	if err != nil {
		return "", 0, err
	}
	fresh = m.File + ".exported" // of an export that was interrupted, too
	for _, path := range []string{fresh + "-journal", fresh} {
		if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return "", 0, err
		}
	}
	if err := CreateFile(ctx, fresh, bytes.NewReader(secret)); err != nil {
		return "", 0, err
	}
	users, err = m.fill(ctx, fresh, old)
	return fresh, users, err
}

// Replace puts a file in the place of the state file, which keeps another name. At no moment is there none.
func (m *Move) Replace(fresh string) (kept string, err error) {
	kept = m.File + "." + time.Now().UTC().Format("20060102T150405Z")
	for _, side := range []string{"-wal", "-shm"} { // empty, since watermark
		if err := os.Remove(m.File + side); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return "", err
		}
	}
	if err := os.Link(m.File, kept); err != nil && !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, fs.ErrExist) {
		return "", err
	}
	if err := os.Rename(fresh, m.File); err != nil {
		return "", err
	}
	return kept, disk.Sync(filepath.Dir(m.File))
}

// watermark is where the embedded log of the directory was applied up to: it must not be applied again.
func (m *Move) watermark(ctx context.Context) (map[string]string, error) {
	if _, err := os.Stat(m.File); errors.Is(err, fs.ErrNotExist) {
		return map[string]string{"applied": "0"}, nil
	}
	db, err := sql.Open("sqlite3", FileDSN(m.File, "mode=rw&_journal_mode=WAL"))
	if err != nil {
		return nil, err
	}
	defer db.Close()
	if _, err := db.ExecContext(ctx, "PRAGMA wal_checkpoint(TRUNCATE)"); err != nil {
		return nil, err
	}
	return FileMeta(ctx, db)
}

// fill writes all records into a new file.
func (m *Move) fill(ctx context.Context, file string, old map[string]string) (users int64, err error) {
	db, err := sql.Open("sqlite3", FileDSN(file, "_txlock=immediate&_synchronous=FULL"))
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	tx, err := db.BeginTx(ctx, nil)
	if err != nil {
		return 0, err
	}
	defer tx.Rollback()
	exec := func(query string, args ...any) error { _, err := tx.ExecContext(ctx, query, args...); return err }
	err = m.Redis.Each(ctx, func(records []redis.Found, _ []string) error {
		for _, f := range records {
			if f.Err != nil {
				return fmt.Errorf("user %q: %w", f.User, f.Err)
			}
			if f.Head == nil { // it was forgotten
				continue
			}
			if err := exec("INSERT OR REPLACE INTO user VALUES (?, ?, ?)", f.History, f.User, f.Head); err != nil {
				return err
			}
			for id, data := range f.Shards {
				if err := exec("INSERT OR REPLACE INTO shard VALUES (?, ?)", id, data); err != nil {
					return err
				}
			}
			users++
		}
		m.Progress("exporting", users, 0)
		return nil
	})
	if err == nil {
		err = exec("UPDATE meta SET value = CASE name WHEN 'log' THEN ? ELSE ? END WHERE name IN ('log', 'applied')",
			old["log"], old["applied"])
	}
	if err == nil {
		err = tx.QueryRowContext(ctx, "SELECT count(*) FROM user").Scan(&users) // a scan may give a key twice
	}
	if err != nil {
		return 0, err
	}
	return users, tx.Commit()
}
