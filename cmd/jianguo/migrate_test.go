//go:build !race

package main

import (
	"encoding/json"
	"fmt"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
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
		s.reported(string(body))
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

func (s *process) reported(body string) {
	s.t.Helper()
	if status, answer, err := s.post("/exposures", []byte(body)); err != nil || status != 204 {
		s.t.Fatalf("%d %s %v", status, answer, err)
	}
}

// Histories move from one machine into the Redis of a fleet and back, with what was reported on either side. Neither a
// service nor the move takes what is not complete.
func TestMigrate(t *testing.T) {
	t.Parallel()
	dir, redis := filepath.Join(t.TempDir(), "data"), "redis://"+startRedis(t)
	c := startCluster(t)
	s := serve(t, plainBinary(t), dir, "--nats-listen", "127.0.0.1:0")
	s.ready()
	before := seenBy(s, 30, "a")
	fleet := []string{"--nats", c.url(), "--exposure-store", redis}
	migrate := append([]string{"migrate", "--data", dir}, fleet...)
	fails(t, s.binary, "is in use by process", migrate...)
	s.stop()
	fails(t, s.binary, "move them there first, with jianguo migrate", append([]string{"serve", "--data", dir, "--listen", "127.0.0.1:0"}, fleet...)...)
	fails(t, s.binary, "the Redis holds no histories", append(migrate, "--export")...)
	moved := func(want string, args ...string) {
		t.Helper()
		if out, err := exec.Command(s.binary, args...).CombinedOutput(); err != nil || !strings.Contains(string(out), want) {
			t.Fatalf("%v\n%s", err, out)
		}
	}
	moved("30 histories moved, 30 compared", migrate...)
	fails(t, s.binary, "have been moved there before", migrate...)

	s = serve(t, s.binary, dir, fleet...)
	s.eventually("the users have owners", func() bool { return s.status("/readyz") == 200 })
	s.held(before)
	there := seenBy(s, 40, "b")
	s.held(before)
	s.held(there)
	s.stop()
	moved("40 histories exported and verified", append(migrate, "--export")...)
	moved("whole", "verify", "--data", dir)

	s = serve(t, s.binary, dir, "--nats-listen", "127.0.0.1:0")
	s.ready()
	s.held(before)
	s.held(there)
	s.stop()
}
