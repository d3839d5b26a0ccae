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
	"jianguo/internal/must"
	"jianguo/internal/sqlite"
)

const moveBatch = 256

// Move is a move of histories between a state file and a Redis.
type Move struct {
	File     string
	Redis    *redis.Conn
	Kept     func(history string) time.Duration // how long a history stays after its last event
	Progress func(stage string, done, total int64)
}

// Import copies the histories of the file into the Redis, compares both, and then stores the secret, without which no
// service uses the Redis. It first removes what an interrupted move has written. ready may refuse the file by its meta.
func (m *Move) Import(ctx context.Context, ready func(meta map[string]string) error) (moved int64, err error) {
	return must.Try(func() int64 {
		db := must.Get(sql.Open("sqlite3", FileDSN(m.File, "mode=ro&_query_only=on")))
		defer db.Close()
		meta := must.Get(FileMeta(ctx, db))
		must.Do(ready(meta))
		switch secret := must.Get(m.Redis.Secret(ctx, nil)); {
		case string(secret) == meta["secret"]:
			must.Do(errors.New("the histories of this directory have been moved there before"))
		case secret != nil:
			must.Do(errors.New("the Redis holds the histories of another store: " +
				"give this fleet a Redis, or a --stream-prefix, of its own"))
		}
		must.Do(m.Redis.Clear(ctx))
		put := func(writes []redis.Write) error { return m.Redis.Put(ctx, writes) }
		moved, err := m.rows(ctx, db, "moving", put)
		if err != nil {
			must.Do(fmt.Errorf("%w: run the command again", err))
		}
		compare := func(writes []redis.Write) error { return m.compare(ctx, writes) }
		_, err = m.rows(ctx, db, "comparing", compare)
		must.Dof(err, "compare")
		must.Get(m.Redis.Secret(ctx, []byte(meta["secret"])))
		return moved
	})
}

// rows calls use with all histories, some at a time, and returns their number.
func (m *Move) rows(ctx context.Context, db *sql.DB, what string, use func([]redis.Write) error) (n int64, err error) {
	err = must.Catch(func() {
		var total int64 // which stays: no service is running
		must.Do(db.QueryRowContext(ctx, "SELECT count(*) FROM user").Scan(&total))
		var writes []redis.Write
		for row := range sqlite.Rows(ctx, db, "SELECT history, user, head FROM user") {
			writes = append(writes, m.write(ctx, db, row))
			if n++; len(writes) == moveBatch || n == total {
				must.Do(use(writes))
				m.Progress(what, n, total)
				writes = nil
			}
		}
	})
	return n, err
}

// write is what the Redis is to hold of a row: with the shards, and how long the history stays. It panics on errors
// (must).
func (m *Move) write(ctx context.Context, db *sql.DB, row *sql.Rows) (w redis.Write) {
	f, st := recordOf(ctx, db, row)
	if f.Err == nil && len(f.Shards) < len(st.Shards()) {
		f.Err = fmt.Errorf("shards are missing: %w", ErrCorrupt)
	}
	if f.Err != nil {
		must.Do(fmt.Errorf("user %q: %w: repair the directory first", f.User, f.Err))
	}
	w.Address, w.Record = f.Address, *f.Record
	last := time.Now() // of links: from when they are moved
	if len(st.Links.From)+len(st.Links.Into) == 0 {
		last = time.Unix(st.Last(), 0)
	}
	w.TTL = max(time.Until(last.Add(m.Kept(w.History))), time.Hour)
	return w
}

// compare returns an error if the Redis does not hold the same bytes.
func (m *Move) compare(ctx context.Context, writes []redis.Write) error {
	var addrs []state.Address
	for _, w := range writes {
		addrs = append(addrs, w.Address)
	}
	found, err := m.Redis.Read(ctx, false, addrs...)
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

// Export writes what the Redis holds to a new state file beside File, and returns its name and number of histories.
func (m *Move) Export(ctx context.Context) (fresh string, users int64, err error) {
	fresh = m.File + ".exported"
	users, err = must.Try(func() int64 {
		secret := must.Get(m.Redis.Secret(ctx, nil))
		if secret == nil {
			must.Do(errors.New("the Redis holds no histories"))
		}
		old := m.watermark(ctx)
		must.Do(errors.Join(os.RemoveAll(fresh+"-journal"), os.RemoveAll(fresh))) // of an export that was interrupted
		must.Do(CreateFile(ctx, fresh, bytes.NewReader(secret)))
		return m.fill(ctx, fresh, old)
	})
	return fresh, users, err
}

// Replace puts a file in the place of the state file, which keeps another name. At every moment one of them is there.
func (m *Move) Replace(fresh string) (kept string, err error) {
	kept = m.File + "." + time.Now().UTC().Format("20060102T150405Z")
	return kept, must.Catch(func() {
		must.Do(errors.Join(os.RemoveAll(m.File+"-wal"), os.RemoveAll(m.File+"-shm"))) // empty, since watermark
		err := os.Link(m.File, kept)
		if !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, fs.ErrExist) {
			must.Do(err)
		}
		must.Do(os.Rename(fresh, m.File))
		must.Do(disk.Sync(filepath.Dir(m.File)))
	})
}

// watermark is the meta of the old file: up to where its log is applied, once only. It panics on errors (must).
func (m *Move) watermark(ctx context.Context) map[string]string {
	if _, err := os.Stat(m.File); errors.Is(err, fs.ErrNotExist) {
		return map[string]string{"applied": "0"}
	}
	db := must.Get(sql.Open("sqlite3", FileDSN(m.File, "mode=rw&_journal_mode=WAL")))
	defer db.Close()
	must.Get(db.ExecContext(ctx, "PRAGMA wal_checkpoint(TRUNCATE)"))
	return must.Get(FileMeta(ctx, db))
}

// fill writes all records into a new file. It panics on errors (must).
func (m *Move) fill(ctx context.Context, file string, old map[string]string) (users int64) {
	db := must.Get(sql.Open("sqlite3", FileDSN(file, "_txlock=immediate&_synchronous=FULL")))
	defer db.Close()
	to := flushTx{must.Get(db.BeginTx(ctx, nil))}
	defer to.Rollback()
	must.Do(m.Redis.Each(ctx, func(records []redis.Found, _ []string) error {
		return must.Catch(func() {
			for _, f := range records {
				must.Dof(f.Err, "user %q", f.User)
				if f.Head == nil { // it was forgotten
					continue
				}
				to.put(f.Address, &state.Snapshot{Head: f.Head, Shards: f.Shards})
				users++
			}
			m.Progress("exporting", users, 0)
		})
	}))
	to.exec(putLog, old["log"], old["applied"])
	must.Do(to.QueryRow("SELECT count(*) FROM user").Scan(&users)) // a scan may give a key twice
	must.Do(to.Commit())
	must.Do(db.Close())
	return users
}
