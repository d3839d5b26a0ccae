//go:build linux

package main

import (
	"encoding/json"
	"fmt"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// TestFileSizeLimit: writes that fail though the disk has room (a quota, a limit on
// the size of files, a device's error), of the catalogue, the snapshot, the state of
// users or the bus. Nobody is told of a verdict or a report that is not kept, the
// service says why, and after a restart without the limit everything that was
// acknowledged is there.
func TestFileSizeLimit(t *testing.T) {
	exe := binary(t)
	for _, limit := range []uint64{160 << 10, 400 << 10, 1 << 20, 3 << 20} {
		t.Run(fmt.Sprint(limit>>10, " KiB"), func(t *testing.T) {
			t.Parallel() // it waits most of the time
			fileSizeLimit(t, exe, limit)
		})
	}
}

func fileSizeLimit(t *testing.T, exe string, limit uint64) {
	data := filepath.Join(t.TempDir(), "data")
	s := serve(t, exe, data, "--nats-listen", "127.0.0.1:0", "--snapshot-every", "30", "--exposure-flush", "50ms")
	s.eventually("ready", func() bool { return s.status("/readyz") == 200 })
	var items []int
	var seen []string
	publish := func(n int) bool {
		status, answer, err := s.post("/items", article(n))
		if err == nil && status == 200 {
			items = append(items, n)
		} else if err == nil && (status < 400 && status != 202 || !json.Valid(answer)) {
			t.Errorf("item %d: %d %s", n, status, answer)
		}
		id := fmt.Sprint("seen-", n)
		told, answer, err := s.post("/exposures", fmt.Appendf(nil, `{"user":"u","kind":"seen","items":[%q]}`, id))
		if err == nil && told == 204 {
			seen = append(seen, id)
		} else if err == nil && (told < 400 || !json.Valid(answer)) {
			t.Errorf("report %d: %d %s", n, told, answer)
		}
		return status == 200 && told == 204
	}
	for n := range 20 {
		if !publish(n) {
			t.Fatalf("item %d was not taken\n%s", n, s.said)
		}
	}
	// No file of the process may grow beyond that from now on: writes fail with EFBIG.
	var old unix.Rlimit
	if err := unix.Prlimit(s.cmd.Process.Pid, unix.RLIMIT_FSIZE, nil, &old); err != nil {
		t.Fatal(err)
	}
	if err := unix.Prlimit(s.cmd.Process.Pid, unix.RLIMIT_FSIZE, &unix.Rlimit{Cur: limit, Max: old.Max}, nil); err != nil {
		t.Fatal(err)
	}
	refused := 0
	for n := 20; n < 600 && refused < 2; n++ {
		if !publish(n) {
			refused++
		}
	}
	t.Logf("%d items and %d reports taken, %d refused", len(items), len(seen), refused)
	if err := unix.Prlimit(s.cmd.Process.Pid, unix.RLIMIT_FSIZE, &old, nil); err != nil {
		t.Logf("the service has ended: %v", err)
	}
	_ = s.cmd.Process.Kill()
	_ = s.cmd.Wait()
	if strings.Contains(s.said.String(), "goroutine ") {
		t.Errorf("the service crashed:\n%s", s.said)
	}
	if out, err := exec.Command(exe, "verify", "--data", data).CombinedOutput(); err != nil {
		t.Fatalf("verify: %v\n%s", err, out)
	}
	s = serve(t, exe, data, "--nats-listen", "127.0.0.1:0")
	s.eventually("ready again", func() bool { return s.status("/readyz") == 200 })
	for _, n := range items {
		s.eventually(fmt.Sprintf("item %d has its verdict", n), func() bool { return s.status(fmt.Sprint("/items/n", n)) == 200 })
	}
	ids, err := json.Marshal(seen)
	if err != nil {
		t.Fatal(err)
	}
	if status, answer, err := s.post("/filter", fmt.Appendf(nil, `{"user":"u","items":%s}`, ids)); status != 200 || string(answer) != fmt.Sprintf(`{"items":[],"dropped":%d}`, len(seen)) {
		t.Errorf("acknowledged reports: %d %s %v", status, answer, err)
	}
	if status, answer, err := s.post("/items", article(9999)); status != 200 {
		t.Errorf("a new item: %d %s %v", status, answer, err)
	}
	s.stop()
}
