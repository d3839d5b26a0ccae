package main

import (
	"fmt"
	"net"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

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

// TestSilentReplica: a replica that does not answer keeps no report waiting, and a command that reads all histories says
// that it cannot.
func TestSilentReplica(t *testing.T) {
	t.Parallel()
	r := startRedisNodes(t)
	for i := range r.nodes {
		r.cli(i, "CONFIG", "SET", "cluster-node-timeout", "600000") // it stays in the cluster
	}
	s := serveReady(t, binary(t), filepath.Join(t.TempDir(), "data"), "--nats", startBroker(t, nil).url(), "--exposure-store", r.url())
	replica := 0
	for strings.Contains(r.cli(replica, "ROLE"), "master") {
		replica++
	}
	s.eventually("all nodes name the replica", func() bool {
		for i := range r.nodes {
			if !strings.Contains(r.cli(i, "CLUSTER", "SLOTS"), fmt.Sprint(r.ports[replica])) {
				return false
			}
		}
		return true
	})
	time.Sleep(3 * time.Second) // the service reads the list once a second
	r.nodes[replica].signal(syscall.SIGSTOP)
	defer r.nodes[replica].signal(syscall.SIGCONT)
	for n := range 40 {
		if status, answer, err := s.post("/exposures", fmt.Appendf(nil, `{"user":"u%d","kind":"seen","items":["a"]}`, n)); err != nil || status != 204 {
			t.Fatalf("report %d: %d %s %v", n, status, answer, err)
		}
		time.Sleep(100 * time.Millisecond) // the service looks at Redis once a second
	}
	s.ready()
	fails(t, s.binary, "exposure: the Redis of users' histories is not available: 127.0.0.1:", "verify", "--exposure-store", r.url())
	s.stop()
}
