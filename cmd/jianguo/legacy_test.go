//go:build !race

package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"jianguo/internal/testbed"
)

// metric is the value of a counter, with its labels, 0 if there is none.
func (s *process) metric(name string) (v float64) {
	_, body, err := s.get("/metrics")
	if err != nil {
		s.t.Fatal(err)
	}
	for line := range strings.Lines(string(body)) {
		if rest, ok := strings.CutPrefix(line, name+" "); ok {
			_, _ = fmt.Sscan(rest, &v)
		}
	}
	return v
}

// filtered is the answer of a filter for a user who asks for some ids.
func (s *process) filtered(user string, ids ...string) (items []string, degraded string) {
	s.t.Helper()
	body, _ := json.Marshal(map[string]any{"user": user, "items": ids})
	var answer struct {
		Items    []string
		Degraded string
	}
	s.ask("/filter", string(body), &answer)
	return answer.Items, answer.Degraded
}

// TestLegacy moves from an old store of every type by asking for its users, through a kill, while some
// report to the service, until the old store is not needed any more.
func TestLegacy(t *testing.T) {
	t.Parallel()
	addr := startRedis(t)
	c := redisClient(t, addr)
	h := history{}
	users := testbed.Count(40, 200, 1000)
	for i := range users {
		h.store(t, c, []string{"seconds", "milliseconds", "set", "list"}[i%4], fmt.Sprint("u", i), 1+i*7%900)
	}
	redisDo(t, c, "HSET", "seen:{hash}", "a", "b")
	before := digests(t, c)
	args := []string{"--nats-listen", "127.0.0.1:0", "--legacy-redis", "redis://" + addr, "--legacy-key", "seen:{{user}}", "--legacy-timeout", "1m"}
	s := serve(t, plainBinary(t), t.TempDir(), args...)
	s.ready()
	for user := range h {
		s.ask("/exposures", fmt.Sprintf(`{"user":%q,"kind":"seen","items":["live"]}`, user), nil)
		h[user] = append(h[user], "live")
	}
	s.eventually("a connection to the old store", func() bool { _, degraded := s.filtered("nobody", "a"); return degraded == "" })
	h.check(s)
	s.kill()
	s.start()
	s.ready()
	s.eventually("a connection to the old store", func() bool { _, degraded := s.filtered("no other", "a"); return degraded == "" })
	h.check(s)
	if items, degraded := s.filtered("hash", "a", "b"); len(items) != 2 || degraded != "legacy" {
		t.Errorf("a key of another type: %q %q", items, degraded)
	}
	if after := digests(t, c); after != before {
		t.Errorf("the old store changed: %s, was %s", after, before)
	}
	s.eventually("all are imported", func() bool {
		n := s.metric("jianguo_legacy_requests_total")
		h.check(s)
		return s.metric("jianguo_legacy_requests_total") == n
	})
	redisDo(t, c, "CLIENT", "PAUSE", "600000", "ALL")
	h.check(s)
	s.stop()
	args[len(args)-1] = "5ms"
	s = serve(t, plainBinary(t), s.data, args...)
	s.ready()
	h.check(s)
	if items, degraded := s.filtered("late", "a", "b"); len(items) != 2 || degraded != "legacy" {
		t.Errorf("the old store does not answer: %q %q", items, degraded)
	}
	if _, text, err := s.post("/exposures/explain", []byte(`{"user":"late","item":"a"}`)); err != nil || !strings.Contains(string(text), "may hold the item") {
		t.Errorf("the old store does not answer: %s %v", text, err)
	}
}

// TestShadow: the old store alone answers, and every difference is counted by its reason.
func TestShadow(t *testing.T) {
	t.Parallel()
	addr := startRedis(t)
	c := redisClient(t, addr)
	redisDo(t, c, "SADD", "seen:{u}", "old", "both")
	s := serve(t, plainBinary(t), t.TempDir(), "--nats-listen", "127.0.0.1:0", "--legacy-redis", "redis://"+addr, "--legacy-key", "seen:{{user}}", "--legacy-timeout", "1m", "--shadow")
	s.ready()
	s.eventually("a connection to the old store", func() bool { _, degraded := s.filtered("nobody", "a"); return degraded == "" })
	s.ask("/exposures", `{"user":"u","kind":"seen","items":["new","both"]}`, nil)
	differences := func(reason string) int {
		return int(s.metric(fmt.Sprintf("jianguo_legacy_differences_total{reason=%q}", reason)))
	}
	ask := func(want ...string) {
		t.Helper()
		if items, degraded := s.filtered("u", "old", "new", "both", "none"); degraded != "" || !slices.Equal(items, want) {
			t.Errorf("answered %q %s, want %q", items, degraded, want)
		}
	}
	ask("new", "none")
	for item, want := range map[string]string{"old": "drops it.\n- the old store holds it\n", "new": "returns it.\n- held nowhere"} {
		if _, text, err := s.post("/exposures/explain", []byte(`{"user":"u","item":"`+item+`"}`)); err != nil || !strings.Contains(string(text), want) {
			t.Errorf("%s: %s %v", item, text, err)
		}
	}
	if differences("not_imported") != 1 || differences("unknown_to_old") != 1 {
		t.Errorf("before the import: %d, %d", differences("not_imported"), differences("unknown_to_old"))
	}
	s.eventually("the user is imported", func() bool { return s.metric("jianguo_legacy_imported_users_total") >= 2 })
	ask("new", "none")
	redisDo(t, c, "SADD", "seen:{u}", "late")
	s.filtered("u", "late")
	for reason, want := range map[string]int{"not_imported": 1, "unknown_to_old": 2, "retention": 1, "false_positive": 0} {
		if n := differences(reason); n != want {
			t.Errorf("%s: %d, want %d", reason, n, want)
		}
	}
	if n := s.metric("jianguo_legacy_compared_items_total"); n < 9 {
		t.Errorf("%v items compared", n)
	}
}

// TestLegacyKey: a pattern without a user is an error that names the flag.
func TestLegacyKey(t *testing.T) {
	t.Parallel()
	out, err := exec.Command(plainBinary(t), "serve", "--data", t.TempDir(), "--nats-listen", "127.0.0.1:0", "--listen", "127.0.0.1:0",
		"--legacy-redis", "redis://127.0.0.1:1", "--legacy-key", "seen:").CombinedOutput()
	if err == nil || !strings.Contains(string(out), `--legacy-key "seen:": it must have {user} once`) {
		t.Errorf("a key without a user: %v %s", err, out)
	}
	out, err = exec.Command(plainBinary(t), "serve", "--data", t.TempDir(), "--nats-listen", "127.0.0.1:0", "--listen", "127.0.0.1:0", "--shadow").CombinedOutput()
	if err == nil || !strings.Contains(string(out), "--legacy-redis") {
		t.Errorf("a shadow of nothing: %v %s", err, out)
	}
}

// TestLegacyDryRun: five users as they would be imported, the keys that would not be, and an error where none matches; no
// data directory is made.
func TestLegacyDryRun(t *testing.T) {
	t.Parallel()
	addr := startRedis(t)
	c := redisClient(t, addr)
	h := history{}
	for i := range 7 {
		h.store(t, c, []string{"seconds", "set", "list"}[i%3], fmt.Sprint("u", i), 10+i)
	}
	redisDo(t, c, "XADD", "seen:{events}", "*", "a", "b")
	redisDo(t, c, "SET", "seen:{count}", "7")
	dir := filepath.Join(t.TempDir(), "none")
	run := func(key string) (string, error) {
		out, err := exec.Command(plainBinary(t), "serve", "--data", dir, "--legacy-redis", "redis://"+addr, "--legacy-key", key, "--legacy-dry-run").CombinedOutput()
		return string(out), err
	}
	out, err := run("seen:{{user}}")
	if err != nil || strings.Count(out, "user \"u") != 5 || strings.Count(out, " items, first \"u") != 5 || !strings.Contains(out, "7 users, 2 foreign keys") || !strings.Contains(out, `"seen:{events}" (stream)`) {
		t.Errorf("%v\n%s", err, out)
	}
	for key, want := range map[string]string{"shown:{user}": "0 users, 0 foreign keys", "seen:{{user}ts}": "0 users, 1 foreign keys"} {
		if out, err := run(key); err == nil || !strings.Contains(out, want) || !strings.Contains(out, "--legacy-key "+key+": no ZSET, SET or LIST") {
			t.Errorf("%s: %v\n%s", key, err, out)
		}
	}
	if _, err := os.Stat(dir); err == nil {
		t.Error("there is a data directory")
	}
}

// TestLegacyNoMatch: with a key that matches nothing nobody counts as imported.
func TestLegacyNoMatch(t *testing.T) {
	t.Parallel()
	addr := startRedis(t)
	redisDo(t, redisClient(t, addr), "SADD", "seen:{u}", "old")
	legacy := []string{"--nats-listen", "127.0.0.1:0", "--legacy-redis", "redis://" + addr, "--legacy-timeout", "1m", "--legacy-key"}
	s := serve(t, plainBinary(t), t.TempDir(), append(legacy, "shown:{user}")...)
	s.ready()
	s.eventually("the log says so", func() bool { return strings.Contains(s.log.String(), "--legacy-key shown:{user}: no ZSET") })
	if items, degraded := s.filtered("u", "old", "new"); len(items) != 2 || degraded != "legacy" {
		t.Errorf("%q %q", items, degraded)
	}
	s.stop()
	s = serve(t, s.binary, s.data, append(legacy, "seen:{{user}}")...)
	s.ready()
	s.eventually("what the old store holds is dropped", func() bool { items, _ := s.filtered("u", "old", "new"); return len(items) == 1 })
}

// TestLegacyCluster moves from a Redis Cluster of three, named by one of its nodes. Once its users are
// imported it is not asked any more.
func TestLegacyCluster(t *testing.T) {
	t.Parallel()
	nodes, c := startRedisCluster(newProcess(t, "", ""))
	h := history{}
	for i := range 60 {
		h.store(t, c, []string{"seconds", "milliseconds", "set", "list"}[i%4], fmt.Sprint("u", i), 1+i*7%300)
	}
	before := digests(t, c)
	s := serve(t, plainBinary(t), t.TempDir(), "--nats-listen", "127.0.0.1:0", "--legacy-redis", "redis://"+nodes[1], "--legacy-key", "seen:{{user}}", "--legacy-timeout", "1m")
	s.ready()
	s.eventually("a connection to the old store", func() bool { _, degraded := s.filtered("nobody", "a"); return degraded == "" })
	h.check(s)
	if after := digests(t, c); after != before {
		t.Errorf("the old store changed: %s, was %s", after, before)
	}
	s.eventually("all are imported", func() bool {
		n := s.metric("jianguo_legacy_requests_total")
		h.check(s)
		return s.metric("jianguo_legacy_requests_total") == n
	})
	for _, node := range c.Nodes() {
		if err := node.Do(context.Background(), node.B().Arbitrary("CLIENT", "PAUSE", "600000", "ALL").Build()).Error(); err != nil {
			t.Fatal(err)
		}
	}
	h.check(s) // the old store is not needed any more
}
