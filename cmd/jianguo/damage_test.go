//go:build linux

package main

import (
	"encoding/json"
	"fmt"
	"jianguo/internal/fixture"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"jianguo/bus"
	"jianguo/index"
	"jianguo/ingest"
	"jianguo/internal/testbed"
)

// fill starts the service, publishes n items, waits for a snapshot and ends the service
// with a signal.
func (k *killed) fill(n int, end syscall.Signal) {
	k.t.Helper()
	k.start()
	js := k.jetstream()
	for i := range n {
		b, err := json.Marshal(ingest.Item{ID: fmt.Sprint("item-", i), Body: fmt.Sprintf("第%d号抢险队今晨在%d号堤坝巡查，村民已经转移到中学，编号%d。", i, i*7, i*i)})
		testbed.OK(k.t, err)
		if _, err := fixture.Submit(k.t.Context(), js, bus.SubjectPublish, b); err != nil {
			k.t.Fatal(err)
		}
	}
	if n > 30 { // a snapshot of the first thirty is being written
		k.eventually("a snapshot", func() bool {
			info, err := os.Stat(filepath.Join(k.data, index.SnapshotFileName))
			return err == nil && info.Size() > 0
		})
	}
	k.signal(end)
	if err := <-k.ended; err != nil && end == syscall.SIGINT {
		k.t.Fatalf("an orderly end: %v\n%s", err, k.log)
	}
}

// verify runs the command on a changed copy of the data directory, and returns its
// output.
func (k *killed) verify(change func(dir string)) (string, error) {
	k.t.Helper()
	dir := filepath.Join(k.t.TempDir(), "copy")
	testbed.OK(k.t, os.CopyFS(dir, os.DirFS(k.data)))
	defer k.remove(dir)
	change(dir)
	out, err := exec.Command(k.binary, "verify", "--data", dir).CombinedOutput()
	return string(out), err
}

// TestDamagedSnapshot: a start is right whatever is wrong with the snapshot.
func TestDamagedSnapshot(t *testing.T) {
	t.Parallel()
	k, r := newKilled(t)
	k.fill(60, syscall.SIGINT)
	whole, err := os.ReadFile(filepath.Join(k.data, index.SnapshotFileName))
	testbed.OK(t, err)
	write := func(dir string, b []byte) {
		testbed.OK(t, os.WriteFile(filepath.Join(dir, index.SnapshotFileName), b, 0o600))
	}
	changes := map[string]func(dir string){
		"as it is": func(string) {},
		"empty":    func(dir string) { write(dir, nil) },
		"half":     func(dir string) { write(dir, whole[:len(whole)/2]) },
		"another file": func(dir string) {
			write(dir, []byte(strings.Repeat("见过", 4000)))
		},
		"gone": func(dir string) {
			testbed.OK(t, os.Remove(filepath.Join(dir, index.SnapshotFileName)))
		},
	}
	for range testbed.Count(6, 12, 300) {
		at, bit := r.IntN(len(whole)), r.IntN(8)
		changes[fmt.Sprintf("bit %d of byte %d", bit, at)] = func(dir string) {
			b := append([]byte(nil), whole...)
			b[at] ^= 1 << bit
			write(dir, b)
		}
	}
	for name, change := range changes {
		if out, err := k.verify(change); err != nil || !strings.Contains(out, "whole: 60 items") {
			t.Errorf("snapshot %s: %v\n%s", name, err, out)
		}
	}
}

// TestCutLog: a write-ahead log of the catalogue that was cut short loses its end and
// nothing else.
func TestCutLog(t *testing.T) {
	t.Parallel()
	k, r := newKilled(t)
	k.fill(40, syscall.SIGKILL)
	log, err := os.ReadFile(filepath.Join(k.data, index.FileName+"-wal"))
	testbed.OK(t, err)
	for range testbed.Count(4, 8, 200) {
		at := r.IntN(len(log))
		out, err := k.verify(func(dir string) {
			testbed.OK(t, os.Truncate(filepath.Join(dir, index.FileName+"-wal"), int64(at)))
		})
		if err != nil || !strings.Contains(out, "whole: ") {
			t.Errorf("cut at %d of %d: %v\n%s", at, len(log), err, out)
		}
	}
}

// TestReadOnlyDisk: on a read-only disk the commands name the reason. Once the disk can be
// written again, everything is there.
func TestReadOnlyDisk(t *testing.T) {
	t.Parallel()
	withOwnMounts(t, func(t *testing.T) {
		disk := smallDisk(t)
		k, _ := newKilled(t, "--disk-reserve", "0") // the disk is smaller than the default reserve
		k.data = filepath.Join(disk, "data")
		k.fill(20, syscall.SIGINT)
		remount := func(flags uintptr) {
			if err := syscall.Mount("", disk, "", syscall.MS_REMOUNT|flags, ""); err != nil {
				t.Fatalf("remount: %v", err)
			}
		}
		remount(syscall.MS_RDONLY)
		for _, args := range [][]string{{"verify"}, {"serve", "--listen", "127.0.0.1:0", "--nats-listen", "127.0.0.1:0"}} {
			fails(t, k.binary, "read-only", append(args, "--data", k.data)...)
		}
		remount(0)
		does(t, k.binary, "whole: 20 items", "verify", "--data", k.data)
	})
}
