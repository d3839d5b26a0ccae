package main

import (
	"net"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"jianguo/internal/testbed"
)

// TestSilentRedis: a Redis that does not answer at the start is what the start names, and no bus.
func TestSilentRedis(t *testing.T) {
	t.Parallel()
	silent, err := net.Listen("tcp", "127.0.0.1:0")
	testbed.OK(t, err)
	defer silent.Close()
	out, err := exec.Command(binary(t), "serve", "--data", filepath.Join(t.TempDir(), "data"), "--listen", "127.0.0.1:0", "--nats", startBroker(t, nil).url(),
		"--exposure-store", "redis://"+silent.Addr().String()).CombinedOutput()
	if err == nil || !strings.Contains(string(out), "--exposure-store: exposure: connect to Redis") || strings.Contains(string(out), "the bus does not answer") {
		t.Errorf("%v\n%s", err, out)
	}
}
