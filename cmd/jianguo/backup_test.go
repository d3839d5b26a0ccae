//go:build !race

package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"jianguo/internal/fixture"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"jianguo/bus"
)

// TestBackup: a copy that is made while items arrive holds everything that was
// acknowledged before it began, and a service starts from it. The same holds for a copy
// that is made while no service runs.
func TestBackup(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	exe, data := plainBinary(t), filepath.Join(dir, "data")
	backup := func(to string) { t.Helper(); does(t, exe, "whole: ", "backup", "--data", data, to) }
	s := serve(t, exe, data, "--nats-listen", "127.0.0.1:0", "--exposure-flush", "300ms") // a backup waits for the next flush
	const before = 60
	for n := range before {
		s.publish(n)
	}
	s.ask("/items", strings.Replace(string(article(1)), `"n1"`, `"copy"`, 1), nil)
	s.ask("/clusters/2/decisions", `{"kind":"release","item":"copy","by":"张三"}`, nil)
	s.ask("/exposures", `{"user":"u","kind":"seen","items":["n1","n2"]}`, nil)
	js := s.jetstream()
	if o, err := fixture.Submit(t.Context(), js, bus.SubjectPublish, []byte(`{"id":""}`)); err != nil || o.Error == "" {
		t.Fatalf("a dead letter: %+v, %v", o, err)
	}
	backup(filepath.Join(dir, "quiet")) // no later message moves the last item on
	var done atomic.Bool
	written := make(chan int)
	go func() {
		n := before
		for ; !done.Load(); n++ {
			if status, answer, err := s.post("/items", article(n)); status != 200 {
				t.Errorf("beside a backup: %d %s %v", status, answer, err)
				break
			}
		}
		written <- n
	}()
	live := filepath.Join(dir, "live")
	backup(live)
	done.Store(true)
	<-written
	fails(t, exe, "a backup is a new directory", "backup", "--data", data, live)
	fails(t, exe, "is in use by process", "restore", "--from", live, "--replace", data)
	if _, err := os.Stat(data + unfinished); err == nil {
		t.Error("a restore that is refused leaves a copy, which is in the way of the next")
	}
	s.kill()
	cold := filepath.Join(dir, "cold")
	backup(cold)

	fails(t, exe, "cold exists: --replace gives it another name", "restore", "--from", live, cold)
	fails(t, exe, "MANIFEST: no such file", "restore", "--from", t.TempDir(), filepath.Join(dir, "none"))
	again := filepath.Join(dir, "again") // what backup makes, restore takes
	does(t, exe, again+" is the backup of ", "restore", "--from", cold, again)
	for name, restored := range map[string]string{"live": live, "cold": cold, "restored": again} {
		s = serveReady(t, exe, restored, "--nats-listen", "127.0.0.1:0")
		for n := range before {
			if got := s.status(fmt.Sprint("/items/n", n)); got != 200 {
				t.Errorf("%s: item %d: %d", name, n, got)
			}
		}
		if status, answer, err := s.post("/filter", []byte(`{"user":"u","items":["n1","n2","n3"]}`)); string(answer) != `{"items":["n3"],"dropped":2}` {
			t.Errorf("%s: filter: %d %s %v", name, status, answer, err)
		}
		if status, answer, _ := s.post("/items", bytes.Replace(article(1), []byte(`"n1"`), []byte(`"again"`), 1)); !bytes.Contains(answer, []byte(`"duplicate"`)) {
			t.Errorf("%s: a copy of what it knows: %d %s", name, status, answer)
		}
		out, err := exec.Command(exe, "dead", "list", "--data", restored, "--json").Output()
		var letter bus.DeadLetter
		if err != nil || json.Unmarshal(out, &letter) != nil || letter.Field != "id" {
			t.Errorf("%s: dead letters: %s %v", name, out, err)
		}
		s.stop()
	}
}
