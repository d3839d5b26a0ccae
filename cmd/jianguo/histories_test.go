//go:build !race

package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"jianguo/internal/testbed"
)

// TestHistoriesOfTwoServices: whichever service applies a report of a user, it keeps it by its own policy. One of another
// policy does not start beside it.
func TestHistoriesOfTwoServices(t *testing.T) {
	t.Parallel()
	b, store := startBroker(t, nil), "redis://"+startRedis(t)
	x := serveReady(t, binary(t), filepath.Join(t.TempDir(), "data"), "--nats", b.url(), "--exposure-store", store)
	y := newProcess(t, x.binary, filepath.Join(t.TempDir(), "data"), "--nats", b.url(), "--exposure-store", store)
	for _, other := range [][]string{{"--exposure-policy", "rotate,ttl=48h"}, {"--exposure-policy", "../../docs/exposure-policy.json"}, {"--time-zone", "UTC"}} {
		args := append([]string{"serve", "--data", y.data, "--listen", "127.0.0.1:0"}, y.args...)
		fails(t, y.binary, "another service on this bus keeps users' histories otherwise", append(args, other...)...)
	}
	y.args = append(y.args, "--exposure-policy", "rotate,slots=5,ttl=120h") // the defaults
	y.start()
	y.ready()
	y.ask("/exposures", `{"user":"u","kind":"seen","items":["a"]}`, nil)
	y.stop()
	y.args = append(y.args, "--exposure-policy", "calendar", "--judge-otherwise")
	y.start()
	y.ready()
	y.stop()
	x.stop()
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

// TestClockOfTheBus: a service that starts with a clock six days ahead filters what others have been told.
func TestClockOfTheBus(t *testing.T) {
	t.Parallel()
	clock := filepath.Join(t.TempDir(), "clock")
	testbed.OK(t, os.WriteFile(clock, []byte("144h"), 0o600))
	args := []string{"--nats", startBroker(t, nil).url(), "--exposure-store", "redis://" + startRedis(t)}
	x := serveReady(t, binary(t), filepath.Join(t.TempDir(), "data"), args...)
	x.ask("/exposures", `{"user":"u","kind":"seen","items":["a"]}`, nil)
	y := newProcess(t, x.binary, filepath.Join(t.TempDir(), "data"), args...)
	y.env = []string{clockEnv + "=" + clock}
	y.start()
	y.ready()
	var got struct{ Items []string }
	if y.ask("/filter", `{"user":"u","items":["a","new"]}`, &got); len(got.Items) != 1 {
		t.Errorf("the filter lets through %v", got.Items)
	}
	if ahead := y.metrics()["jianguo_clock_ahead_seconds"]; ahead < 518_000 {
		t.Errorf("ahead: %v", ahead)
	}
	y.stop()
	x.stop()
}
