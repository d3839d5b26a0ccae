//go:build !race

package main

import (
	"context"
	"database/sql"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/redis/rueidis"

	"jianguo/exposure"
	"jianguo/exposure/shared"
	"jianguo/exposure/shared/moving"
	states "jianguo/exposure/state"
	"jianguo/exposure/statefile"
	"jianguo/exposure/verify"
	"jianguo/internal/child"
	"jianguo/internal/datadir"
	"jianguo/internal/sqlite"
	"jianguo/internal/tier"
)

// records are users' histories, by the names of their keys in Redis: the fields of each but its version.
type records map[string]map[string]string

// differs returns the first record that differs, or "".
func (h records) differs(other records) string {
	for _, pair := range [][2]records{{h, other}, {other, h}} {
		for name, fields := range pair[0] {
			if !maps.Equal(fields, pair[1][name]) {
				return fmt.Sprintf("%q: %d fields here, %d there", name, len(h[name]), len(other[name]))
			}
		}
	}
	return ""
}

// stateDB opens the file of histories of a data directory that no process uses.
func stateDB(t *testing.T, dir string) *sql.DB {
	t.Helper()
	db, err := sql.Open("sqlite3", statefile.DSN(filepath.Join(dir, datadir.Exposures), "_txlock=immediate"))
	if err != nil {
		t.Fatal(err)
	}
	return db
}

func execSQL(t *testing.T, db *sql.DB, query string, args ...any) {
	t.Helper()
	if _, err := db.Exec(query, args...); err != nil {
		t.Fatal(err)
	}
}

// addHistories writes n users into the file of a data directory.
func addHistories(t *testing.T, dir string, n int) {
	t.Helper()
	db := stateDB(t, dir)
	defer db.Close()
	policy, err := exposure.Policy{Slots: 3, Capacity: 64, Tail: 8, Target: 1e-6}.WithDefaults()
	if err != nil {
		t.Fatal(err)
	}
	db.SetMaxOpenConns(1)
	execSQL(t, db, "BEGIN")
	number, now := int64(0), time.Now()
	for u := range n {
		history, user := []string{"", "video"}[u%2], fmt.Sprintf("u{%d}:", u)
		keys := make([]uint32, []int{2, 20, 200}[u%3])
		for i := range keys {
			keys[i] = 1 + rand.Uint32N(1<<32-1)
		}
		st := new(states.State)
		if err := st.See(&policy, keys, now, now, nil); err != nil {
			t.Fatal(err)
		}
		snap := st.Snapshot(states.Address(history, user), func() int64 { number++; return number })
		execSQL(t, db, "INSERT INTO user VALUES (?, ?, ?)", history, user, snap.Head)
		for _, sh := range snap.Shards {
			execSQL(t, db, "INSERT INTO shard VALUES (?, ?)", sh.ID, sh.Data)
		}
	}
	execSQL(t, db, "COMMIT")
}

// inFile reads the histories of a data directory, which it verifies.
func inFile(t *testing.T, dir string) records {
	t.Helper()
	if _, err := verify.File(t.Context(), filepath.Join(dir, datadir.Exposures)); err != nil {
		t.Fatal(err)
	}
	db := stateDB(t, dir)
	defer db.Close()
	all := records{}
	err := sqlite.Each(t.Context(), db, "SELECT history, user, head FROM user", func(rows *sql.Rows) error {
		var history, user, head string
		if err := rows.Scan(&history, &user, &head); err != nil {
			return err
		}
		st, err := states.DecodeHead([]byte(head), states.Address(history, user))
		if err != nil {
			return err
		}
		fields := map[string]string{"h": head}
		for _, sh := range st.Shards() {
			var data string
			if err := db.QueryRow("SELECT data FROM shard WHERE id = ?", sh.ID()).Scan(&data); err != nil {
				return err
			}
			fields[strconv.FormatInt(sh.ID(), 10)] = data
		}
		all["jianguo:{"+user+"}:"+history] = fields
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// inRedis reads the histories in a Redis.
func inRedis(t *testing.T, c rueidis.Client) records {
	t.Helper()
	all := records{}
	for cursor := uint64(0); ; {
		page, err := c.Do(t.Context(), c.B().Scan().Cursor(cursor).Match("jianguo:{*").Count(1000).Build()).AsScanEntry()
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range page.Elements {
			fields, err := c.Do(t.Context(), c.B().Hgetall().Key(name).Build()).AsStrMap()
			if err != nil {
				t.Fatal(err)
			}
			delete(fields, "v")
			all[name] = fields
		}
		if cursor = page.Cursor; cursor == 0 {
			return all
		}
	}
}

// killedWhen starts a command, kills it when a moment has come, and reports whether it was still running.
func killedWhen(t *testing.T, moment func() bool, binary string, args ...string) bool {
	t.Helper()
	cmd, out := exec.Command(binary, args...), new(lockedBuffer)
	cmd.Stdout, cmd.Stderr = out, out
	if err := child.Start(cmd); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	for !moment() {
		select {
		case err := <-ended:
			if err != nil {
				t.Fatalf("%v\n%s", err, out)
			}
			return false
		case <-time.After(200 * time.Microsecond):
		}
	}
	_ = cmd.Process.Kill()
	return <-ended != nil
}

// after is a moment up to a time from the first time that another one has come.
func after(moment func() bool, most time.Duration) func() bool {
	var at time.Time
	return func() bool {
		if at.IsZero() && moment() {
			at = time.Now().Add(rand.N(most))
		}
		return !at.IsZero() && !time.Now().Before(at)
	}
}

// A move that is killed at any moment, in either direction, goes on when the command is run again, and ends with the same
// histories on both sides. Until then no service takes the Redis, and the directory has all that it had.
func TestMigrateKilled(t *testing.T) {
	t.Parallel()
	dir, addr := filepath.Join(t.TempDir(), "data"), startRedis(t)
	c := redisClient(t, addr)
	s := serve(t, plainBinary(t), dir, "--nats-listen", "127.0.0.1:0")
	s.ready()
	s.stop()
	const users = 6000
	addHistories(t, dir, users)
	command := []string{"migrate", "--data", dir, "--nats", startBroker(t, nil).url(), "--exposure-store", "redis://" + addr}
	finished := func(want string, args ...string) {
		t.Helper()
		if out, err := exec.Command(s.binary, args...).CombinedOutput(); err != nil || !strings.Contains(string(out), want) {
			t.Fatalf("%v\n%s", err, out)
		}
	}

	model := inFile(t, dir)
	first, clock, inTheMiddle := model, "", 0
	for i := range tier.Count(3, 6, 60) {
		keys := func() int {
			n, err := c.Do(t.Context(), c.B().Dbsize().Build()).AsInt64()
			if err != nil {
				t.Fatal(err)
			}
			return int(n)
		}
		had, moment := keys(), after(func() bool { return true }, time.Second/2)
		if more := users - had; i%3 < 2 && more > 0 { // else at any time: before the first record, or after the last one
			least := had + 1 + rand.IntN(more)
			moment = func() bool {
				if keys() <= least {
					return false
				}
				if i%3 == 0 { // Redis stops in the middle of a page, and never sees the rest of it
					redisDo(t, c, "CLIENT", "PAUSE", "1000", "WRITE")
					time.Sleep(20 * time.Millisecond)
				}
				return true
			}
		}
		killed := killedWhen(t, moment, s.binary, command...)
		s.eventually("Redis has noticed the end of the command", func() bool {
			list, err := c.Do(t.Context(), c.B().ClientList().Build()).ToString()
			return err == nil && !strings.Contains(list, " cmd=eval")
		})
		redisDo(t, c, "CLIENT", "UNPAUSE")
		got := inRedis(t, c)
		position, _ := c.Do(t.Context(), c.B().Get().Key("jianguo:moving").Build()).ToString() // there may be none
		if of, at, ok := strings.Cut(position, "\n"); ok && strings.HasSuffix(of, clock) {
			for name := range model {
				if k, _ := moving.KeyOf(&shared.Redis{Prefix: "jianguo"}, name); got[name] == nil && states.Address(k.History, k.User) <= at {
					t.Fatalf("%q is not in the Redis, and the move would go on after %q", name, at)
				}
			}
		}
		moved, err := c.Do(t.Context(), c.B().Exists().Key("jianguo:secret").Build()).AsBool()
		if err != nil {
			t.Fatal(err)
		}
		if moved || !killed {
			if d := got.differs(model); d != "" || !moved {
				t.Fatalf("it is over, %d of %d histories in the Redis, secret: %v; %s", len(got), len(model), moved, d)
			}
			break
		}
		for name, fields := range got {
			if !maps.Equal(fields, model[name]) && !maps.Equal(fields, first[name]) {
				t.Fatalf("after a kill, %q is not what the directory has", name)
			}
		}
		if len(got) < len(model) && keys() != had {
			inTheMiddle++
		}
		if i == 1 { // as if a service had run on the directory, and forgotten users without shards who had been moved
			db := stateDB(t, dir)
			clock = fmt.Sprint(time.Now().Unix() + 1)
			execSQL(t, db, "DELETE FROM user WHERE user IN ('u{0}:', 'u{3}:')")
			execSQL(t, db, "INSERT OR REPLACE INTO meta VALUES ('clock', ?)", clock)
			db.Close()
			model = inFile(t, dir)
		}
	}
	t.Logf("killed %d times in the middle", inTheMiddle)
	if inTheMiddle == 0 {
		t.Error("no move was killed in the middle")
	}
	if out, err := exec.Command(s.binary, command...).CombinedOutput(); err != nil && !strings.Contains(string(out), "have been moved there before") {
		t.Fatalf("%v\n%s", err, out)
	}
	if d := inRedis(t, c).differs(model); d != "" {
		t.Fatal(d)
	}
	finished(fmt.Sprintf("whole: histories of %d users", len(model)), "verify", "--exposure-store", "redis://"+addr)

	// Back, into a directory that has other histories.
	db := stateDB(t, dir)
	execSQL(t, db, "DELETE FROM user")
	execSQL(t, db, "DELETE FROM shard")
	db.Close()
	addHistories(t, dir, 30)
	former := inFile(t, dir)
	beginPartitions(t, addr)
	command = append(command, "--export")
	inTheMiddle = 0
	for range tier.Count(3, 6, 60) {
		begun := func() bool {
			_, err := os.Stat(filepath.Join(dir, datadir.Exposures+".exported"))
			return err == nil
		}
		killed := killedWhen(t, after(begun, 150*time.Millisecond), s.binary, command...)
		got := inFile(t, dir)
		if got.differs(model) == "" {
			break
		}
		if d := got.differs(former); d != "" || !killed {
			t.Fatalf("the directory has neither its histories nor those of the Redis: %s", d)
		}
		inTheMiddle++
	}
	t.Logf("killed %d times in the middle", inTheMiddle)
	if inTheMiddle == 0 {
		t.Error("no export was killed in the middle")
	}
	finished(fmt.Sprintf("%d histories exported and verified", len(model)), command...)
	if d := inFile(t, dir).differs(model); d != "" {
		t.Fatal(d)
	}
	finished("whole", "verify", "--data", dir)
}

// beginPartitions makes a Redis one that a service has used.
func beginPartitions(t *testing.T, addr string) {
	t.Helper()
	r, err := shared.Open("redis://"+addr, "jianguo")
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	for p := range shared.Partitions {
		if _, err := r.Acquire(context.Background(), p, "log", 0); err != nil {
			t.Fatal(err)
		}
	}
}
