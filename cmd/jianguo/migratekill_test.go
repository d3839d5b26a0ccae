//go:build !race

package main

import (
	"context"
	"database/sql"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/rueidis"

	"jianguo/exposure"
	"jianguo/exposure/redis"
	states "jianguo/exposure/state"
	"jianguo/internal/datadir"
	"jianguo/internal/sqlite"
	"jianguo/internal/testbed"
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

// bytes is what all fields have.
func (h records) bytes() (n int) {
	for _, fields := range h {
		for _, field := range fields {
			n += len(field)
		}
	}
	return n
}

// narrow is a client's connection on which bytes pass while any remain, and then no more until it is cut.
type narrow struct {
	net.Conn
	remaining *atomic.Int64
	cut       chan struct{}
}

func (n narrow) Read(p []byte) (int, error) {
	read, err := n.Conn.Read(p)
	remaining := int(n.remaining.Add(-int64(read)))
	if remaining < 0 && read+remaining <= 0 {
		<-n.cut
		return 0, io.EOF
	}
	return read + min(0, remaining), err
}

// stateDB opens the file of histories of a data directory that no process uses.
func stateDB(t *testing.T, dir string) *sql.DB {
	t.Helper()
	db, err := sql.Open("sqlite3", exposure.FileDSN(filepath.Join(dir, datadir.Exposures), "_txlock=immediate"))
	testbed.OK(t, err)
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
	policy, err := states.Policy{Slots: 3, Capacity: 64, Tail: 8, Target: 1e-6}.WithDefaults()
	testbed.OK(t, err)
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
		testbed.OK(t, st.Apply(&policy, &states.Event{Kind: states.Seen, Keys: keys, Logged: now, Now: now}, nil))
		snap := st.Snapshot(states.Address{History: history, User: user}, func() int64 { number++; return number })
		execSQL(t, db, "INSERT INTO user VALUES (?, ?, ?)", history, user, snap.Head)
		for id, data := range snap.Shards {
			execSQL(t, db, "INSERT INTO shard VALUES (?, ?)", id, data)
		}
	}
	execSQL(t, db, "COMMIT")
}

// inFile reads the histories of a data directory, which it verifies.
func inFile(t *testing.T, dir string) records {
	t.Helper()
	if _, err := exposure.VerifyFile(t.Context(), filepath.Join(dir, datadir.Exposures)); err != nil {
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
		st, err := states.DecodeHead([]byte(head), states.Address{History: history, User: user})
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
	testbed.OK(t, err)
	return all
}

// inRedis reads the histories in a Redis.
func inRedis(t *testing.T, c rueidis.Client) records {
	t.Helper()
	all := records{}
	for cursor := uint64(0); ; {
		page, err := c.Do(t.Context(), c.B().Scan().Cursor(cursor).Match("jianguo:{*").Count(1000).Build()).AsScanEntry()
		testbed.OK(t, err)
		for _, name := range page.Elements {
			fields, err := c.Do(t.Context(), c.B().Hgetall().Key(name).Build()).AsStrMap()
			testbed.OK(t, err)
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
	testbed.OK(t, testbed.Start(cmd))
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

// A move that is killed at any moment, in either direction, begins again when the command is run again, and ends with
// the same histories on both sides. Until then no service takes the Redis, and the directory has all that it had.
func TestMigrateKilled(t *testing.T) {
	t.Parallel()
	dir, addr := filepath.Join(t.TempDir(), "data"), startRedis(t)
	c := redisClient(t, addr)
	s := serveReady(t, plainBinary(t), dir, "--nats-listen", "127.0.0.1:0")
	s.stop()
	const users = 6000
	addHistories(t, dir, users)
	command := []string{"migrate", "--data", dir, "--nats", startBroker(t, nil).url(), "--exposure-store", "redis://" + addr}
	model := inFile(t, dir)
	first, inTheMiddle := model, 0
	for i := range testbed.Count(3, 6, 60) {
		keys := func() int {
			n, err := c.Do(t.Context(), c.B().Dbsize().Build()).AsInt64()
			testbed.OK(t, err)
			return int(n)
		}
		had, moment, args, cut := keys(), after(func() bool { return true }, time.Second/2), command, func() {}
		switch more := users - had; { // else at any time: before the first record, or after the last one
		case more <= 0:
		case i%3 == 0: // Redis never sees more than a part, which may end in the middle of a page
			way, n := startRelay(t), narrow{remaining: new(atomic.Int64), cut: make(chan struct{})}
			n.remaining.Store(int64(model.bytes() * more / users * (20 + rand.IntN(60)) / 100))
			way.narrow = func(client net.Conn) net.Conn { return narrow{client, n.remaining, n.cut} }
			way.to.Store(&addr)
			args = slices.Concat(command[:len(command)-1], []string{"redis://" + way.listener.Addr().String()})
			moment, cut = func() bool { return n.remaining.Load() < 0 }, func() { close(n.cut) }
		case i%3 == 1:
			least := had + rand.IntN(more)
			moment = func() bool { return keys() > least }
		}
		killed := killedWhen(t, moment, s.binary, args...)
		cut()
		s.eventually("Redis has noticed the end of the command", func() bool {
			list, err := c.Do(t.Context(), c.B().ClientList().Build()).ToString()
			return err == nil && !strings.Contains(list, " cmd=eval")
		})
		got := inRedis(t, c)
		moved, err := c.Do(t.Context(), c.B().Exists().Key("jianguo:secret").Build()).AsBool()
		testbed.OK(t, err)
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
			execSQL(t, db, "DELETE FROM user WHERE user IN ('u{0}:', 'u{3}:')")
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
	does(t, s.binary, fmt.Sprintf("whole: histories of %d users", len(model)), "verify", "--exposure-store", "redis://"+addr)

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
	for range testbed.Count(3, 6, 60) {
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
	does(t, s.binary, fmt.Sprintf("%d histories exported and verified", len(model)), command...)
	if d := inFile(t, dir).differs(model); d != "" {
		t.Fatal(d)
	}
	does(t, s.binary, "whole", "verify", "--data", dir)
}

// beginPartitions makes a Redis one that a service has used.
func beginPartitions(t *testing.T, addr string) {
	t.Helper()
	r, err := redis.Open("redis://"+addr, "jianguo")
	testbed.OK(t, err)
	defer r.Close()
	for p := range redis.Partitions {
		if _, err := r.Acquire(context.Background(), p, "log", 0); err != nil {
			t.Fatal(err)
		}
	}
}
