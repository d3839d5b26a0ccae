package main

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"jianguo/bus"
	"jianguo/internal/testbed"
)

// natsServer is a NATS server in a process of its own: nats-server CONFIG.
func natsServer() {
	options, err := server.ProcessConfigFile(os.Args[1])
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	options.NoSigs = true
	s, err := server.NewServer(options)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	s.ConfigureLogger()
	s.Start()
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	<-ctx.Done()
	stop()
	s.Shutdown()
	s.WaitForShutdown()
}

// cluster is three NATS servers, each a process that can be killed.
type cluster struct {
	t       *testing.T
	nodes   [3]*process
	clients [3]string // their addresses
}

// portsGiven are those that a test of this process has, or will listen on.
var portsGiven sync.Map

// freePorts returns ports that nothing listens on now, and that no other test has been given. They, and the ports 10,000
// above them, which nodes of a Redis Cluster also take, are below those that the system gives to connections.
func freePorts(t *testing.T, n int) (ports []int) {
	t.Helper()
	for len(ports) < n {
		port := 11000 + rand.IntN(10000)
		l, err := net.Listen("tcp", fmt.Sprint("127.0.0.1:", port))
		if err != nil {
			continue
		}
		_ = l.Close()
		if _, given := portsGiven.LoadOrStore(port, true); !given {
			ports = append(ports, port)
		}
	}
	return ports
}

func startCluster(t *testing.T) *cluster {
	t.Helper()
	c := &cluster{t: t}
	ports := freePorts(t, 6)
	program := linked(t, "nats-server")
	var routes []string
	for _, p := range ports[3:] {
		routes = append(routes, fmt.Sprintf("nats://127.0.0.1:%d", p))
	}
	for i := range c.nodes {
		dir := t.TempDir()
		config := fmt.Sprintf("server_name: n%d\nlisten: 127.0.0.1:%d\nmax_payload: 4MB\njetstream { store_dir: %q, sync_interval: always }\ncluster { name: fleet, no_advertise: true, listen: 127.0.0.1:%d, routes: [%s] }\n",
			i, ports[i], filepath.Join(dir, "js"), ports[3+i], strings.Join(routes, ", "))
		name := filepath.Join(dir, "nats.conf")
		testbed.OK(t, os.WriteFile(name, []byte(config), 0o600))
		c.nodes[i] = newProcess(t, program, name)
		c.clients[i] = fmt.Sprintf("nats://127.0.0.1:%d", ports[i])
		c.start(i)
	}
	t.Cleanup(func() {
		for _, n := range c.nodes {
			n.kill()
		}
	})
	return c
}

func (c *cluster) start(i int) {
	c.t.Helper()
	c.nodes[i].run(exec.Command(c.nodes[i].binary, c.nodes[i].data))
}

func (c *cluster) url() string { return strings.Join(c.clients[:], ",") }

// streams connects to the JetStream of the cluster, once it has elected its leaders.
func (c *cluster) streams() jetstream.JetStream {
	c.t.Helper()
	js := bus.JetStream(connect(c.t, c.url(), nats.MaxReconnects(-1), nats.RetryOnFailedConnect(true)))
	for deadline := time.Now().Add(patience); ; time.Sleep(50 * time.Millisecond) {
		ctx, cancel := context.WithTimeout(c.t.Context(), time.Second)
		_, err := js.AccountInfo(ctx)
		cancel()
		if err == nil {
			return js
		}
		if time.Now().After(deadline) {
			c.t.Fatalf("the cluster elects no leader: %v\n%s", err, c.nodes[0].log)
		}
	}
}

// A service starts on a cluster only with streams that hold what it acknowledges; it says what is
// wrong with others, and changes them when it is told to.
func TestClusterStreams(t *testing.T) {
	t.Parallel()
	c := startCluster(t)
	js := c.streams()
	dir := filepath.Join(t.TempDir(), "data")
	fails(t, plainBinary(t), "the bus has fewer than 5 servers with JetStream that answer: start them, or set --replicas", "serve", "--data", dir, "--listen", "127.0.0.1:0", "--nats", c.url(), "--replicas", "5")
	// As a version before has made them: with one replica each.
	s := serveReady(t, plainBinary(t), dir, "--nats", c.url(), "--replicas", "1")
	s.publish(1)
	s.stop()
	fails(t, plainBinary(t), "stream VERDICTS: it has 1 of 3 replicas (num_replicas): change", "serve", "--data", dir, "--listen", "127.0.0.1:0", "--nats", c.url())
	changed := func() {
		t.Helper()
		s = serveReady(t, plainBinary(t), dir, "--nats", c.url(), "--create-streams")
		s.eventually("the new replicas take an item", func() bool {
			status, _, err := s.post("/items", article(2))
			return err == nil && status == 200
		})
		s.numbers(js, 2) // all events, from the first on
		s.stop()
		for _, name := range streamNames {
			stream, err := js.Stream(t.Context(), name)
			testbed.OK(t, err)
			if info := stream.CachedInfo(); info.Config.Replicas != 3 || info.Config.MaxAge != 0 {
				t.Errorf("%s: %+v", name, info.Config)
			}
		}
	}
	fails(t, plainBinary(t), "stream VERDICTS: a bus cannot give replicas to a stream that it writes asynchronously: remove the stream", "serve", "--data", dir, "--listen", "127.0.0.1:0", "--nats", c.url(), "--create-streams")
	testbed.OK(t, js.DeleteStream(t.Context(), bus.StreamVerdicts))
	changed()
	// As somebody has changed it on the bus.
	items, err := js.Stream(t.Context(), bus.StreamItems)
	testbed.OK(t, err)
	other := items.CachedInfo().Config
	other.MaxAge, other.Discard = time.Hour, jetstream.DiscardOld
	if _, err := js.UpdateStream(t.Context(), other); err != nil {
		t.Fatal(err)
	}
	fails(t, plainBinary(t), "stream ITEMS: it has the policy DiscardOld when it is full, not DiscardNew (discard); it forgets messages after 1h0m0s (max_age): "+
		"change that on the bus, or start once with --create-streams", "serve", "--data", dir, "--listen", "127.0.0.1:0", "--nats", c.url())
	changed()
	// A flag takes no replicas away.
	s = serveReady(t, plainBinary(t), dir, "--nats", c.url(), "--replicas", "1")
	s.stop()
	if stream, err := js.Stream(t.Context(), bus.StreamItems); err != nil || stream.CachedInfo().Config.Replicas != 3 {
		t.Errorf("replicas were taken away: %v", err)
	}
}
