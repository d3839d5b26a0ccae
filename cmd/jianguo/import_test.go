//go:build !race

package main

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/redis/rueidis"

	"jianguo/internal/testbed"
)

// startRedis starts a redis-server and returns its address.
func startRedis(t *testing.T, args ...string) string {
	t.Helper()
	addr := fmt.Sprint("127.0.0.1:", freePorts(t, 1)[0])
	cmd := exec.Command("redis-server", append([]string{"--port", addr[len("127.0.0.1:"):], "--bind", "127.0.0.1", "--save", "", "--appendonly", "no", "--enable-debug-command", "yes", "--dir", t.TempDir()}, args...)...)
	if err := testbed.Start(cmd); err != nil {
		t.Fatalf("%v (Debian: apt-get install redis-server)", err)
	}
	exited := make(chan struct{})
	go func() { _ = cmd.Wait(); close(exited) }()
	t.Cleanup(func() { _ = cmd.Process.Kill(); <-exited })
	for deadline := time.Now().Add(patience); time.Now().Before(deadline); time.Sleep(20 * time.Millisecond) {
		if c, err := net.Dial("tcp", addr); err == nil {
			_ = c.Close()
			return addr
		}
		select {
		case <-exited:
			t.Fatal("redis-server has ended")
		default:
		}
	}
	t.Fatal("redis-server does not start")
	return ""
}

// startRedisCluster starts a Redis Cluster of three, and returns the addresses of its nodes and a client.
func startRedisCluster(s *process) (nodes []string, c rueidis.Client) {
	for range 3 {
		nodes = append(nodes, startRedis(s.t, "--cluster-enabled", "yes"))
	}
	does(s.t, "redis-cli", "", append(append([]string{"--cluster", "create"}, nodes...), "--cluster-yes")...)
	for _, node := range nodes {
		s.eventually(node+" finds the cluster whole", func() bool {
			info, err := exec.Command("redis-cli", "-u", "redis://"+node, "CLUSTER", "INFO").Output()
			return err == nil && strings.Contains(string(info), "cluster_state:ok")
		})
	}
	c = redisClient(s.t, nodes[0])
	redisDo(s.t, c, "SET", "other", "no history")
	return nodes, c
}

func redisClient(t *testing.T, addr string) rueidis.Client {
	t.Helper()
	c, err := rueidis.NewClient(rueidis.ClientOption{InitAddress: []string{addr}, DisableCache: true, AlwaysRESP2: true})
	testbed.OK(t, err)
	t.Cleanup(c.Close)
	return c
}

func redisDo(t *testing.T, c rueidis.Client, words ...string) {
	t.Helper()
	cmd := c.B().Arbitrary(words[0])
	if len(words) > 1 {
		cmd = cmd.Keys(words[1]).Args(words[2:]...)
	}
	if err := c.Do(context.Background(), cmd.Build()).Error(); err != nil && !rueidis.IsRedisNil(err) {
		t.Fatal(words[:2], err)
	}
}

// history is what users of a test have seen, by user.
type history map[string][]string

// store puts a user into Redis, as one of the types that a platform may use.
func (h history) store(t *testing.T, c rueidis.Client, kind, user string, n int) {
	t.Helper()
	key, now := "seen:{"+user+"}", time.Now()
	words := map[string][]string{"seconds": {"ZADD", key}, "milliseconds": {"ZADD", key}, "set": {"SADD", key}, "list": {"LPUSH", key}}[kind]
	for i := range n {
		id, at := fmt.Sprintf("%s-%d", user, i), now.Add(-time.Duration(n-i)*time.Minute)
		switch kind {
		case "seconds":
			words = append(words, strconv.FormatInt(at.Unix(), 10))
		case "milliseconds":
			words = append(words, strconv.FormatInt(at.UnixMilli(), 10))
		}
		words = append(words, id)
		h[user] = append(h[user], id)
	}
	redisDo(t, c, words...)
}

// TestImportAll imports all users of every type from a Redis Cluster of three, while users who are imported see more,
// and through kills, and finds all of it in the filter without the old store, which remains as it was.
func TestImportAll(t *testing.T) {
	t.Parallel()
	args := []string{"--nats-listen", "127.0.0.1:0"}
	s := serveReady(t, plainBinary(t), t.TempDir(), args...)
	h := history{}
	nodes, c := startRedisCluster(s)
	for i, kind := range []string{"seconds", "milliseconds", "set", "list"} {
		for j := range testbed.Count(20, 50, 500) {
			h.store(t, c, kind, fmt.Sprint("user-", i, "-", j), 1+j*20%400)
		}
	}
	for user := range h { // seen since the service is there
		s.ask("/exposures", fmt.Sprintf(`{"user":%q,"kind":"seen","items":["live"]}`, user), nil)
		h[user] = append(h[user], "live")
	}
	redisDo(t, c, "HSET", "seen:{hash}", "a", "b")
	redisDo(t, c, "XADD", "seen:{stream}", "*", "a", "b")
	redisDo(t, c, "SADD", "seen:{"+strings.Repeat("long", 100)+"}", "a")
	redisDo(t, c, "SADD", "seen:{\xff}", "a")
	before := digests(t, c)
	s.stop()
	legacy := append(args, "--legacy-redis", "redis://"+nodes[1], "--legacy-key", "seen:{{user}}")
	s = serve(t, s.binary, s.data, legacy...)
	for i := range testbed.Count(3, 5, 20) {
		s.ready()
		time.Sleep(time.Duration(50+rand.IntN(200*(1+i))) * time.Millisecond)
		s.kill()
		s.start()
	}
	s.ready()
	s.eventually("all are imported", func() bool {
		return strings.Contains(s.log.String(), "all users of the old store are imported")
	})
	for _, want := range []string{fmt.Sprint(len(h), " users, 4 foreign keys"), `\"seen:{hash}\" (hash)`, `\"seen:{stream}\" (stream)`} {
		if !strings.Contains(s.log.String(), want) {
			t.Errorf("the log has no %s", want)
		}
	}
	if after := digests(t, c); after != before {
		t.Errorf("the old store changed: %s, was %s", after, before)
	}
	s.stop()
	s = serveReady(t, s.binary, s.data, args...)
	s.held(h)
	s.stop()
}

// digests are the digests of all nodes' data.
func digests(t *testing.T, c rueidis.Client) string {
	t.Helper()
	var all []string
	for name, node := range c.Nodes() {
		d, err := node.Do(context.Background(), node.B().Arbitrary("DEBUG", "DIGEST").Build()).ToString()
		if err != nil {
			t.Fatal(name, err)
		}
		all = append(all, name+" "+d)
	}
	slices.Sort(all)
	return strings.Join(all, "\n")
}

// TestLegacyKey: a pattern without a user is an error that names the flag; with one that matches nothing nobody is
// imported, and the log says so.
func TestLegacyKey(t *testing.T) {
	t.Parallel()
	addr := startRedis(t)
	redisDo(t, redisClient(t, addr), "SADD", "seen:{u}", "old")
	legacy := []string{"--nats-listen", "127.0.0.1:0", "--legacy-redis", "redis://" + addr, "--legacy-key"}
	fails(t, plainBinary(t), `--legacy-key "seen:": it must have {user} once`,
		append([]string{"serve", "--data", t.TempDir(), "--listen", "127.0.0.1:0"}, append(legacy, "seen:")...)...)
	s := serveReady(t, plainBinary(t), t.TempDir(), append(legacy, "shown:{user}")...)
	s.eventually("the log says so", func() bool { return strings.Contains(s.log.String(), "--legacy-key shown:{user}: no ZSET") })
	s.stop()
	s = serveReady(t, s.binary, s.data, append(legacy, "seen:{{user}}")...)
	s.eventually("what the old store holds is dropped", func() bool {
		var answer struct{ Items []string }
		s.ask("/filter", `{"user":"u","items":["old","new"]}`, &answer)
		return slices.Equal(answer.Items, []string{"new"})
	})
	s.stop()
}

// TestImportedOnce: a user who is imported is passed after a restart, wherever the scenes list the default history.
func TestImportedOnce(t *testing.T) {
	t.Parallel()
	addr, policy := startRedis(t), filepath.Join(t.TempDir(), "policy.json")
	redisDo(t, redisClient(t, addr), "SADD", "seen:{u}", "old")
	err := os.WriteFile(policy, []byte(`{"histories": {"default": {"policy": "rotate"}, "disliked": {"policy": "rotate", "kinds": ["disliked"]}},
		"scenes": {"default": {"writes": ["disliked", "default"]}}}`), 0o600)
	testbed.OK(t, err)
	args := []string{"--nats-listen", "127.0.0.1:0", "--exposure-policy", policy, "--legacy-redis", "redis://" + addr,
		"--legacy-key", "seen:{{user}}"}
	imported := func(data string) *process {
		s := serveReady(t, plainBinary(t), data, args...)
		s.eventually("all are imported", func() bool {
			return strings.Contains(s.log.String(), "all users of the old store are imported")
		})
		return s
	}
	s := imported(t.TempDir())
	s.ask("/exposures/unsee", `{"user":"u","items":["old"]}`, nil)
	s.stop()
	s = imported(s.data)
	var answer struct{ Items []string }
	if s.ask("/filter", `{"user":"u","items":["old"]}`, &answer); len(answer.Items) != 1 {
		t.Error("what was un-seen is imported again")
	}
	s.stop()
}
