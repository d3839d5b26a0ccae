package maintain

import (
	"bytes"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strconv"
	"strings"
	"time"

	"jianguo/exposure"
	"jianguo/exposure/eventlog"
	"jianguo/exposure/redis"
	"jianguo/exposure/state"
	"jianguo/internal/companion"
	"jianguo/internal/disk"
	"jianguo/internal/sqlite"
)

// moveBatch is how many users are moved at once.
const moveBatch = 256

// move copies the histories of the directory into the Redis, compares both, and gives the Redis the secret
// without which no service takes it. It goes on where a move before ended.
func (m *move) move(co *companion.Streams) error {
	db, err := sql.Open("sqlite3", exposure.FileDSN(m.file, "mode=ro&_query_only=on"))
	if err != nil {
		return err
	}
	defer db.Close()
	meta, err := exposure.FileMeta(co.Ctx, db)
	if err == nil {
		err = m.drained(co.Ctx, meta)
	}
	if err != nil {
		return err
	}
	secret, err := m.redis.Secret(co.Ctx, nil)
	if err != nil {
		return err
	}
	if secret != nil {
		if string(secret) == meta["secret"] {
			return errors.New("the histories of this directory have been moved there before")
		}
		return errors.New("the Redis holds the histories of another store: give this fleet a Redis, or a --stream-prefix, of its own")
	}
	var total int64
	if err := db.QueryRowContext(co.Ctx, "SELECT count(*) FROM user").Scan(&total); err != nil {
		return err
	}
	moved, err := m.copy(co, db, meta, total)
	if err != nil {
		return fmt.Errorf("%w: run the command again, and it goes on where it was", err)
	}
	compared, err := m.rows(co, db, "comparing", "", total, func(writes []redis.Write) error { return m.compare(co.Ctx, writes) })
	if err == nil {
		err = m.nothingElse(co.Ctx, db)
	}
	if err != nil {
		return fmt.Errorf("compare: %w", err)
	}
	if _, err := m.redis.Secret(co.Ctx, []byte(meta["secret"])); err != nil {
		return err
	}
	if err := redis.SetPosition(co.Ctx, m.redis, ""); err != nil {
		return err
	}
	_, err = fmt.Fprintf(co.Out, "%d histories moved, %d compared; the directory keeps its own as they are. Start each service with --nats and --exposure-store\n", moved, compared)
	return err
}

// copy writes the histories into the Redis, from where a move of the same histories was interrupted.
func (m *move) copy(co *companion.Streams, db *sql.DB, meta map[string]string, total int64) (moved int64, err error) {
	// A service that has run on the directory since may have changed any of them.
	of := fmt.Sprintf("%s %s %s\n", meta["log"], meta["applied"], meta["clock"])
	position, err := redis.Position(co.Ctx, m.redis)
	if err != nil {
		return 0, err
	}
	after, same := strings.CutPrefix(position, of)
	if !same {
		after = ""
		if err := redis.Clear(co.Ctx, m.redis); err != nil {
			return 0, err
		}
		if err := redis.SetPosition(co.Ctx, m.redis, of); err != nil {
			return 0, err
		}
	}
	return m.rows(co, db, "moving", after, total, func(writes []redis.Write) error {
		if err := m.redis.Put(co.Ctx, writes); err != nil {
			return err
		}
		last := writes[len(writes)-1].Key
		return redis.SetPosition(co.Ctx, m.redis, of+state.Address(last.History, last.User))
	})
}

// rows calls use with the histories after an address, in order, and returns their number.
func (m *move) rows(co *companion.Streams, db *sql.DB, what, after string, total int64, use func([]redis.Write) error) (n int64, err error) {
	progress := co.Progress.Stages(what)
	history, user := state.SplitAddress(after)
	for {
		var writes []redis.Write
		err := sqlite.Each(co.Ctx, db, "SELECT history, user, head FROM user WHERE (history, user) > (?, ?) ORDER BY history, user LIMIT ?", func(rows *sql.Rows) error {
			var w redis.Write
			w.Version = redis.Moved
			err := rows.Scan(&w.History, &w.User, &w.Head)
			writes = append(writes, w)
			return err
		}, history, user, moveBatch)
		if err != nil {
			return n, err
		}
		if len(writes) == 0 {
			return n, nil
		}
		for i := range writes {
			if err := m.complete(co.Ctx, db, &writes[i]); err != nil {
				return n, err
			}
		}
		if err := use(writes); err != nil {
			return n, err
		}
		n += int64(len(writes))
		progress(what, n, total)
		last := writes[len(writes)-1].Key
		history, user = last.History, last.User
	}
}

// complete adds the shards, and how long the history stays.
func (m *move) complete(ctx context.Context, db *sql.DB, w *redis.Write) error {
	st, err := state.DecodeHead(w.Head, state.Address(w.History, w.User))
	if err != nil {
		return fmt.Errorf("user %q: %w: repair the directory first", w.User, err)
	}
	w.Shards = map[int64][]byte{}
	shards := st.Shards()
	for i := range shards {
		var data []byte
		if err := db.QueryRowContext(ctx, "SELECT data FROM shard WHERE id = ?", shards[i].ID()).Scan(&data); err != nil {
			return fmt.Errorf("user %q: shard %d: %w", w.User, shards[i].ID(), err)
		}
		w.Shards[shards[i].ID()] = data
	}
	p := m.policy(w.History)
	w.TTL = max(time.Until(time.Unix(st.Last(), 0).Add(p.Kept())), time.Hour)
	return nil
}

// compare returns an error if the Redis does not hold the same bytes.
func (m *move) compare(ctx context.Context, writes []redis.Write) error {
	var keys []redis.Key
	for _, w := range writes {
		keys = append(keys, w.Key)
	}
	found, err := redis.Read(ctx, m.redis, keys)
	if err != nil {
		return err
	}
	for i, w := range writes {
		rec, err := found[i].Record()
		if err != nil {
			return fmt.Errorf("user %q: %w", w.User, err)
		}
		same := bytes.Equal(rec.Head, w.Head) && len(rec.Shards) == len(w.Shards)
		for id, data := range w.Shards {
			same = same && bytes.Equal(rec.Shards[id], data)
		}
		if !same {
			return fmt.Errorf("user %q: the Redis does not hold what was written; is something else writing to it?", w.User)
		}
	}
	return nil
}

// nothingElse returns an error if the Redis holds a user whom the directory does not have.
func (m *move) nothingElse(ctx context.Context, db *sql.DB) error {
	return redis.Names(ctx, m.redis, func(names []string, _ int64) error {
		for _, k := range redis.Keys(m.redis, names) {
			var known bool
			if err := db.QueryRowContext(ctx, "SELECT EXISTS (SELECT 1 FROM user WHERE history = ? AND user = ?)", k.History, k.User).Scan(&known); err != nil {
				return err
			}
			if !known {
				return fmt.Errorf("user %q: the directory does not have them, and the Redis does; is something else writing to it?", k.User)
			}
		}
		return nil
	})
}

// export makes a state file of what the Redis holds, verifies it, and puts it in the place of that of the directory.
func (m *move) export(co *companion.Streams) error {
	secret, err := m.redis.Secret(co.Ctx, nil)
	if err != nil {
		return err
	}
	if secret == nil {
		return errors.New("the Redis holds no histories")
	}
	for p := range redis.Partitions {
		applied, err := m.redis.Applied(co.Ctx, p)
		if err == nil {
			err = waiting(co.Ctx, m.js, m.prefix+eventlog.StreamName, applied, eventlog.SubjectPrefix+"*."+strconv.Itoa(p))
		}
		if err != nil {
			return fmt.Errorf("%w: let a service of the fleet apply it, and stop it", err)
		}
	}
	old, err := m.watermark(co.Ctx)
	if err != nil {
		return err
	}
	fresh := m.file + ".exported" // of an export that was interrupted, too
	for _, path := range []string{fresh + "-journal", fresh} {
		if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	if err := exposure.CreateFile(co.Ctx, fresh, bytes.NewReader(secret)); err != nil {
		return err
	}
	users, err := m.fill(co, fresh, old)
	if err != nil {
		return err
	}
	rep, err := exposure.VerifyFile(co.Ctx, fresh)
	if err == nil && rep.Users != users {
		err = fmt.Errorf("the file holds %d histories of %d", rep.Users, users)
	}
	if err != nil {
		return fmt.Errorf("%s: %w", fresh, err)
	}
	kept, err := m.replace(fresh)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(co.Out, "%d histories exported and verified; those the directory had are in %s. The Redis keeps its own. Start the service without --exposure-store; with the embedded bus its log is that of before\n", users, kept)
	return err
}

// replace puts a file in the place of that of the directory, which keeps another name. At no moment is there none.
func (m *move) replace(fresh string) (kept string, err error) {
	kept = m.file + "." + time.Now().UTC().Format("20060102T150405Z")
	for _, side := range []string{"-wal", "-shm"} { // empty, since watermark
		if err := os.Remove(m.file + side); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return "", err
		}
	}
	if err := os.Link(m.file, kept); err != nil && !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, fs.ErrExist) {
		return "", err
	}
	if err := os.Rename(fresh, m.file); err != nil {
		return "", err
	}
	return kept, disk.Sync(m.dir)
}

// watermark is where the embedded log of the directory was applied up to: it must not be applied again.
func (m *move) watermark(ctx context.Context) (map[string]string, error) {
	if _, err := os.Stat(m.file); errors.Is(err, fs.ErrNotExist) {
		return map[string]string{"applied": "0"}, nil
	}
	db, err := sql.Open("sqlite3", exposure.FileDSN(m.file, "mode=rw&_journal_mode=WAL"))
	if err != nil {
		return nil, err
	}
	defer db.Close()
	if _, err := db.ExecContext(ctx, "PRAGMA wal_checkpoint(TRUNCATE)"); err != nil {
		return nil, err
	}
	return exposure.FileMeta(ctx, db)
}

// fill writes all records into a new file.
func (m *move) fill(co *companion.Streams, file string, old map[string]string) (users int64, err error) {
	db, err := sql.Open("sqlite3", exposure.FileDSN(file, "_txlock=immediate&_synchronous=FULL"))
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	tx, err := db.BeginTx(co.Ctx, nil)
	if err != nil {
		return 0, err
	}
	defer tx.Rollback()
	exec := func(query string, args ...any) error { _, err := tx.ExecContext(co.Ctx, query, args...); return err }
	progress := co.Progress.Stages("exporting")
	err = redis.Each(co.Ctx, m.redis, func(k redis.Key, rec *redis.Record) error {
		if err := exec("INSERT OR REPLACE INTO user VALUES (?, ?, ?)", k.History, k.User, rec.Head); err != nil {
			return err
		}
		for id, data := range rec.Shards {
			if err := exec("INSERT OR REPLACE INTO shard VALUES (?, ?)", id, data); err != nil {
				return err
			}
		}
		progress("exporting", users+1, 0)
		users++
		return nil
	})
	if err == nil {
		err = exec("UPDATE meta SET value = CASE name WHEN 'log' THEN ? ELSE ? END WHERE name IN ('log', 'applied')", old["log"], old["applied"])
	}
	if err == nil {
		err = tx.QueryRowContext(co.Ctx, "SELECT count(*) FROM user").Scan(&users) // a scan may give a key twice
	}
	if err != nil {
		return 0, err
	}
	return users, tx.Commit()
}
