//go:build !race

package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"jianguo/internal/fixture"
	"os/exec"
	"path/filepath"
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
	backup := func(to string) {
		t.Helper()
		out, err := exec.Command(exe, "backup", "--data", data, to).CombinedOutput()
		if err != nil || !bytes.Contains(out, []byte("whole: ")) {
			t.Fatalf("backup: %v\n%s", err, out)
		}
	}
	s := serve(t, exe, data, "--nats-listen", "127.0.0.1:0", "--exposure-flush", "300ms") // a backup waits for the next flush
	ok := func(status int, answer []byte, err error) {
		t.Helper()
		if err != nil || status/100 != 2 {
			t.Fatalf("%d %s %v\n%s", status, answer, err, s.log)
		}
	}
	publish := func(n int) { t.Helper(); ok(s.post("/items", article(n))) }
	const before = 60
	for n := range before {
		publish(n)
	}
	ok(s.post("/items", bytes.Replace(article(1), []byte(`"n1"`), []byte(`"copy"`), 1)))
	ok(s.post("/clusters/2/decisions", []byte(`{"kind":"release","item":"copy","by":"张三"}`)))
	ok(s.post("/exposures", []byte(`{"user":"u","kind":"seen","items":["n1","n2"]}`)))
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
	if out, err := exec.Command(exe, "backup", "--data", data, live).CombinedOutput(); err == nil || !bytes.Contains(out, []byte("a backup is a new directory")) {
		t.Errorf("over another backup: %v %s", err, out)
	}
	s.kill()
	cold := filepath.Join(dir, "cold")
	backup(cold)

	fails(t, exe, "cold exists: --replace gives it another name", "restore", "--from", live, cold)
	fails(t, exe, "MANIFEST: no such file", "restore", "--from", t.TempDir(), filepath.Join(dir, "none"))
	again := filepath.Join(dir, "again") // what backup makes, restore takes
	if out, err := exec.Command(exe, "restore", "--from", cold, again).CombinedOutput(); err != nil || !bytes.Contains(out, []byte(again+" is the backup of ")) {
		t.Fatalf("%s %v", out, err)
	}
	for name, restored := range map[string]string{"live": live, "cold": cold, "restored": again} {
		s = serve(t, exe, restored, "--nats-listen", "127.0.0.1:0")
		s.ready()
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
