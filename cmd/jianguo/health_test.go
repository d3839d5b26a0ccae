//go:build !race

package main

import (
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
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
	s := serve(t, exe, data, "--nats-listen", "127.0.0.1:0")
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
