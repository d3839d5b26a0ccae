//go:build !race

package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"jianguo/internal/testbed"
)

// `jianguo health` succeeds exactly while a service answers on the directory.
func TestHealth(t *testing.T) {
	t.Parallel()
	exe, data := plainBinary(t), filepath.Join(t.TempDir(), "data")
	health := func(args ...string) (string, error) {
		out, err := exec.Command(exe, append([]string{"health", "--data", data}, args...)...).CombinedOutput()
		return string(out), err
	}
	if out, err := health(); err == nil || !strings.Contains(out, "--data: ") {
		t.Errorf("without a directory: %v %s", err, out)
	}
	words := filepath.Join(t.TempDir(), "words") // the start waits for them
	testbed.OK(t, syscall.Mkfifo(words, 0o600))
	s := newProcess(t, exe, data, "--nats-listen", "127.0.0.1:0", "--user-dict", words)
	s.begin()
	s.eventually("a service that starts is healthy", func() bool {
		out, err := health()
		return err == nil && strings.Contains(out, `"status":"ok"`)
	})
	if out, err := health("--ready"); err == nil || !strings.Contains(out, "503 Service Unavailable: ") {
		t.Errorf("a service that starts is ready: %v %s", err, out)
	}
	testbed.OK(t, os.WriteFile(words, []byte("柳桥村 50 ns\n"), 0o600))
	s.started()
	s.ready()
	if out, err := health(); err != nil || !strings.Contains(out, `"status":"ok"`) {
		t.Errorf("a running service: %v %s", err, out)
	}
	if out, err := health("--ready"); err != nil || !strings.Contains(out, `"ready":true`) {
		t.Errorf("a ready service: %v %s", err, out)
	}
	s.stop()
	if out, err := health(); err == nil || !strings.Contains(out, "does not answer") {
		t.Errorf("a stopped service: %v %s", err, out)
	}
}
