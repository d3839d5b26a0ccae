//go:build linux && !race

package main

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"jianguo/internal/testbed"
)

// TestFileSizeLimit: writes of the catalogue, the snapshot, the users' states or the bus
// fail although the disk has space (a quota, a limit on the size of files, a device error).
// No verdict or report is acknowledged that is not kept, the service says why, and after
// a restart without the limit everything acknowledged is there.
func TestFileSizeLimit(t *testing.T) {
	t.Parallel()
	exe := plainBinary(t)
	for _, limit := range []uint64{160 << 10, 400 << 10, 1 << 20, 3 << 20} {
		t.Run(fmt.Sprint(limit>>10, " KiB"), func(t *testing.T) {
			t.Parallel() // it waits most of the time
			fileSizeLimit(t, exe, limit)
		})
	}
}

func fileSizeLimit(t *testing.T, exe string, limit uint64) {
	data := filepath.Join(t.TempDir(), "data")
	s := serveReady(t, exe, data, "--nats-listen", "127.0.0.1:0", "--snapshot-every", "30", "--exposure-flush", "50ms")
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
		reported, answer, err := s.post("/exposures", fmt.Appendf(nil, `{"user":"u","kind":"seen","items":[%q]}`, id))
		if err == nil && reported == 204 {
			seen = append(seen, id)
		} else if err == nil && (reported < 400 || !json.Valid(answer)) {
			t.Errorf("report %d: %d %s", n, reported, answer)
		}
		return status == 200 && reported == 204
	}
	for n := range 20 {
		if !publish(n) {
			t.Fatalf("item %d was not taken\n%s", n, s.log)
		}
	}
	// From now on no file of the process may grow beyond the limit: writes fail with EFBIG.
	var old unix.Rlimit
	testbed.OK(t, unix.Prlimit(s.cmd.Process.Pid, unix.RLIMIT_FSIZE, nil, &old))
	testbed.OK(t, unix.Prlimit(s.cmd.Process.Pid, unix.RLIMIT_FSIZE, &unix.Rlimit{Cur: limit, Max: old.Max}, nil))
	refused := 0
	for n := 20; n < 600 && refused < testbed.Count(1, 2, 8); n++ {
		if !publish(n) {
			refused++
		}
	}
	t.Logf("%d items and %d reports taken, %d refused", len(items), len(seen), refused)
	if err := unix.Prlimit(s.cmd.Process.Pid, unix.RLIMIT_FSIZE, &old, nil); err != nil {
		t.Logf("the service has ended: %v", err)
	}
	s.kill()
	if strings.Contains(s.log.String(), "goroutine ") {
		t.Errorf("the service crashed:\n%s", s.log)
	}
	does(t, exe, "", "verify", "--data", data)
	s = serveReady(t, exe, data, "--nats-listen", "127.0.0.1:0")
	for _, n := range items {
		s.eventually(fmt.Sprintf("item %d has its verdict", n), func() bool { return s.status(fmt.Sprint("/items/n", n)) == 200 })
	}
	ids, err := json.Marshal(seen)
	testbed.OK(t, err)
	if status, answer, err := s.post("/filter", fmt.Appendf(nil, `{"user":"u","items":%s}`, ids)); status != 200 || string(answer) != fmt.Sprintf(`{"items":[],"dropped":%d}`, len(seen)) {
		t.Errorf("acknowledged reports: %d %s %v", status, answer, err)
	}
	s.publish(9999)
	s.stop()
}
