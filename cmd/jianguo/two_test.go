package main

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"jianguo/bus"
	"jianguo/internal/testbed"
)

// Two services on one bus come to the same catalogue, whichever of them editors decide at. When one is killed, the other
// publishes the events. One that judges otherwise ends, and so does one that has missed what the bus no longer holds.
func TestTwoServices(t *testing.T) {
	t.Parallel()
	b := startBroker(t, nil)
	var services [2]*process
	for i := range services {
		services[i] = serve(t, binary(t), filepath.Join(t.TempDir(), "data"), "--nats", b.url())
		services[i].ready()
	}
	x, y := services[0], services[1]
	for n := range 30 {
		services[n%2].ask("/items", string(fleetItem(n)), nil)
	}
	var decision struct {
		Number uint64 `json:"decision"`
		Events []struct {
			ID string `json:"id"`
		} `json:"events"`
	}
	cluster := func(s *process, id string) (n int) {
		s.eventually("both have the item", func() bool { return s.status("/items/"+id) == 200 })
		_, answer, err := s.get("/items/" + id)
		var it struct{ Event struct{ Cluster int } }
		if err != nil || json.Unmarshal(answer, &it) != nil {
			t.Fatalf("%s %v", answer, err)
		}
		return it.Event.Cluster
	}
	decide := func(s *process, id, body string, answer any) {
		t.Helper()
		s.ask(fmt.Sprintf("/clusters/%d/decisions", cluster(s, id)), body, answer)
	}
	decide(x, "n2", `{"kind":"release","item":"n2","by":"张三"}`, &decision)
	decide(y, "n2", fmt.Sprintf(`{"kind":"undo","decision":%d,"by":"李四"}`, decision.Number), nil)
	decide(y, "n5", `{"kind":"release","item":"n5","by":"李四"}`, nil)
	status, answer, err := x.post(fmt.Sprintf("/clusters/%d/decisions", cluster(x, "n5")), []byte(`{"kind":"release","item":"n5","expect":"duplicate","by":"张三"}`))
	if err != nil || status != 409 || !strings.Contains(string(answer), "李四") {
		t.Errorf("a decision after that of another editor: %d %s %v", status, answer, err)
	}
	y.ask("/sources/%E7%94%B2%E6%8A%A5/boilerplate", `{"text":"本报记者综合报道","state":"in","by":"李四"}`, nil)
	for n := 30; n < 60; n++ {
		services[n%2].ask("/items", string(fleetItem(n)), nil)
	}
	same(t, x, y, 63)

	// What one has not published when it is killed, the other publishes.
	x.kill()
	for n := 60; n < 70; n++ {
		y.ask("/items", string(fleetItem(n)), nil)
	}
	y.numbers(b.streams(), 73)
	x.start()
	x.ready()
	same(t, x, y, 73)

	// One that judges otherwise does not start, however late the other answers, unless it is told to, and then it is the
	// one that ends.
	x.stop()
	y.signal(syscall.SIGSTOP)
	time.AfterFunc(3*time.Second, func() { _ = y.cmd.Process.Signal(syscall.SIGCONT) })
	fails(t, x.binary, "another service on this bus judges otherwise, and one of the two would end: its → this one's: distance 3 → 0, rules jianguo → hamming",
		"serve", "--data", x.data, "--listen", "127.0.0.1:0", "--nats", b.url(), "--rule", "hamming", "--distance", "0")
	x.args = append(x.args, "--judge-otherwise", "--rule", "hamming", "--distance", "0")
	x.start()
	for n := 70; n < 80; n++ {
		y.ask("/items", string(fleetItem(n)), nil)
	}
	if _ = x.end(); !strings.Contains(x.log.String(), "it judges by another version, policy, dictionary or residue list") {
		t.Errorf("it ended: %s", x.log)
	}
	y.numbers(b.streams(), 83)

	// It starts again from a backup of the other, and what it held is kept.
	from := filepath.Join(t.TempDir(), "backup")
	does(t, y.binary, "", "backup", "--data", y.data, from)
	y.ask("/items", string(fleetItem(80)), nil)
	fails(t, x.binary, "exists: --replace", "restore", "--from", from, x.data)
	does(t, x.binary, "is kept in", "restore", "--from", from, "--replace", x.data)
	x.args = x.args[:len(x.args)-5]
	x.start()
	same(t, x, y, 84)
	x.stop()

	// One that has missed what the bus no longer holds.
	items, err := b.streams().Stream(t.Context(), bus.StreamItems)
	testbed.OK(t, err)
	testbed.OK(t, items.Purge(t.Context()))
	fails(t, y.binary, "the catalogue is an older copy", "serve", "--data", filepath.Join(t.TempDir(), "data"), "--listen", "127.0.0.1:0", "--nats", b.url())
	y.stop()
}

// TestPolicyOfTwoServices changes the policy of two services in the order that docs/scale.md gives.
func TestPolicyOfTwoServices(t *testing.T) {
	t.Parallel()
	b := startBroker(t, nil)
	x := serve(t, binary(t), filepath.Join(t.TempDir(), "data"), "--nats", b.url())
	x.ready()
	y := serve(t, binary(t), filepath.Join(t.TempDir(), "data"), "--nats", b.url())
	y.ready()
	for n := range 10 {
		x.ask("/items", string(fleetItem(n)), nil)
	}
	x.stop()
	for n := 10; n < 20; n++ {
		y.ask("/items", string(fleetItem(n)), nil)
	}
	y.stop()
	y.args = append(y.args, "--suspects", "reject", "--strictness", "stories")
	y.start()
	y.ready()
	if want := "articles are judged by another policy from now on"; !strings.Contains(y.log.String(), want) {
		t.Errorf("the log does not say %q: %s", want, y.log)
	}
	for n := 20; n < 30; n++ {
		y.ask("/items", string(fleetItem(n)), nil)
	}
	from := filepath.Join(t.TempDir(), "backup")
	does(t, x.binary, "", "backup", "--data", y.data, from)
	does(t, x.binary, "", "restore", "--from", from, "--replace", x.data)
	x.args = y.args
	x.start()
	x.ready()
	for n := 30; n < 40; n++ {
		x.ask("/items", string(fleetItem(n)), nil)
	}
	same(t, x, y, 40)
	x.stop()
	y.stop()
}

// same waits until both services have so many events, and compares them.
func same(t *testing.T, x, y *process, events int) {
	t.Helper()
	list := func(s *process) (lines []string) {
		_, answer, err := s.get("/verdicts?after=0&limit=1000")
		var page []json.RawMessage
		if err != nil || json.Unmarshal(answer, &page) != nil {
			return nil
		}
		for _, e := range page {
			lines = append(lines, string(e))
		}
		return lines
	}
	for _, s := range []*process{x, y} {
		s.eventually(fmt.Sprintf("%d events", events), func() bool { return len(list(s)) == events })
	}
	a, b := list(x), list(y)
	for i := range a {
		if a[i] != b[i] {
			t.Fatalf("event %d differs:\n%s\n%s", i+1, a[i], b[i])
		}
	}
}
