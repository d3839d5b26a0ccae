//go:build !race

package main

import (
	"encoding/json"
	"fmt"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"jianguo/internal/testbed"
)

// seenBy reports n users with up to 900 items each, and returns what each of them has seen.
func seenBy(s *process, n int, name string) map[string][]string {
	s.t.Helper()
	all := map[string][]string{}
	for u := range n {
		user := fmt.Sprintf("u{%d}:", u) // the separators of keys in Redis
		var items []string
		for i := range []int{3, 30, 900}[u%3] {
			items = append(items, fmt.Sprint(name, u, "-", i))
		}
		body, _ := json.Marshal(map[string]any{"user": user, "kind": "seen", "items": items})
		s.ask("/exposures", string(body), nil)
		all[user] = items
	}
	return all
}

// held fails the test if one of the users sees again what they have seen.
func (s *process) held(all map[string][]string) {
	s.t.Helper()
	for user, items := range all {
		var answer struct {
			Items    []string
			Degraded string
		}
		body, _ := json.Marshal(map[string]any{"user": user, "items": append([]string{"new"}, items...)})
		s.ask("/filter", string(body), &answer)
		if len(answer.Items) != 1 || answer.Degraded != "" {
			s.t.Fatalf("user %s sees %d items again: %.200v %s", user, len(answer.Items)-1, answer.Items, answer.Degraded)
		}
	}
}

// Histories move from one machine into the Redis of a fleet and back, with what was reported on either side. Neither a
// service nor the move takes what is not complete.
func TestMigrate(t *testing.T) {
	t.Parallel()
	dir, redis := filepath.Join(t.TempDir(), "data"), "redis://"+startRedis(t)
	c := startCluster(t)
	s := serveReady(t, plainBinary(t), dir, "--nats-listen", "127.0.0.1:0")
	before := seenBy(s, 30, "a")
	fleet := []string{"--nats", c.url(), "--exposure-store", redis}
	migrate := append([]string{"migrate", "--data", dir}, fleet...)
	fails(t, s.binary, "is in use by process", migrate...)
	s.stop()
	fails(t, s.binary, "move them there first, with jianguo migrate", append([]string{"serve", "--data", dir, "--listen", "127.0.0.1:0"}, fleet...)...)
	fails(t, s.binary, "the Redis holds no histories", append(migrate, "--export")...)
	does(t, s.binary, "30 histories moved and compared", migrate...)
	fails(t, s.binary, "have been moved there before", migrate...)

	s = serveReady(t, s.binary, dir, fleet...)
	s.held(before)
	verifyStore := []string{"verify", "--exposure-store", redis}
	does(t, s.binary, "whole: histories of 30 users", verifyStore...)
	there := seenBy(s, 40, "b")
	s.held(before)
	s.held(there)
	does(t, s.binary, "whole", "backup", "--data", dir, filepath.Join(t.TempDir(), "copy"))
	other := serveReady(t, s.binary, filepath.Join(t.TempDir(), "other"), fleet...)
	s.stop()
	fails(t, s.binary, "a service on this bus runs, or is paused", append(migrate, "--export")...)
	other.stop()
	does(t, s.binary, "40 histories exported and verified", append(migrate, "--export")...)
	does(t, s.binary, "whole", "verify", "--data", dir)
	damageHistories(t, s.binary, redis)

	s = serveReady(t, s.binary, dir, "--nats-listen", "127.0.0.1:0")
	s.held(before)
	s.held(there)
	s.stop()
}

// damageHistories damages records in a Redis, and looks whether verify names each, and all else that is not of a store.
func damageHistories(t *testing.T, binary, redis string) {
	t.Helper()
	c := redisClient(t, strings.TrimPrefix(redis, "redis://"))
	name := func(u int) string { return fmt.Sprintf("jianguo:{u{%d}:}:", u) }
	shards := func(u int) (list []string) {
		fields, err := c.Do(t.Context(), c.B().Hkeys().Key(name(u)).Build()).AsStrSlice()
		testbed.OK(t, err)
		for _, field := range fields {
			if field != "v" && field != "h" {
				list = append(list, field)
			}
		}
		return list
	}
	value := func(u int, field string) string {
		v, err := c.Do(t.Context(), c.B().Hget().Key(name(u)).Field(field).Build()).ToString()
		testbed.OK(t, err)
		return v
	}
	lost, bits, another := shards(2)[0], shards(5)[0], shards(8)[0]
	redisDo(t, c, "HSET", name(0), "h", value(1, "h"))
	redisDo(t, c, "HDEL", name(2), lost)
	redisDo(t, c, "HSET", name(5), bits, strings.Repeat("x", len(value(5, bits))))
	redisDo(t, c, "HSET", name(3), another, value(8, another))
	redisDo(t, c, "HSET", name(6), "v", "1")
	redisDo(t, c, "HSET", name(7), "colour", "red")
	redisDo(t, c, "SET", "jianguo:{s}:", "no hash")
	redisDo(t, c, "SET", "jianguo:other", "")
	redisDo(t, c, "SET", "others:key", "")
	out, err := exec.Command(binary, "verify", "--exposure-store", redis).CombinedOutput()
	if err == nil || !strings.Contains(string(out), "\n8 problems: histories of ") || strings.Contains(string(out), "others:key") {
		t.Errorf("%v\n%s", err, out)
	}
	for _, want := range []string{`"\x00u{0}:": exposure: head checksum`, `"\x00u{2}:": shard ` + lost + ` is missing`, `"\x00u{5}:": exposure: shard ` + bits, `"\x00u{3}:": shard ` + another + ` is not of the head`,
		`"\x00u{6}:": "1" is no version`, `"\x00u{7}:": field "colour" is not of a record`, `"\x00s": `, `key "jianguo:other" is not of this store`} {
		if !strings.Contains(string(out), want) {
			t.Errorf("verify does not say %s:\n%s", want, out)
		}
	}
}
