package redis

import (
	"errors"
	"fmt"
	"net"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/redis/rueidis"

	"jianguo/internal/testbed"
)

// TestScanOfAChangingCluster: a scan says that a server has left the cluster before its keys were read.
func TestScanOfAChangingCluster(t *testing.T) {
	t.Parallel()
	one, other := startNode(t), startNode(t)
	one.do("cluster addslotsrange 0 16382")
	other.do("cluster addslotsrange 16383 16383")
	_, port, _ := net.SplitHostPort(other.address)
	one.do("cluster meet 127.0.0.1 " + port + " " + other.bus)
	eventually(t, "the two are a cluster", func() bool {
		return strings.Contains(one.do("cluster info"), "cluster_state:ok") && strings.Contains(other.do("cluster info"), "cluster_state:ok")
	})
	conn, err := Open("redis://"+one.address, "x")
	testbed.OK(t, err)
	defer conn.Close()
	if n := len(conn.Client.Nodes()); n != 2 {
		t.Fatalf("the cluster has %d servers", n)
	}
	testbed.OK(t, conn.Client.Do(t.Context(), conn.Client.B().Set().Key("a").Value("of one").Build()).Error())
	otherFirst := errors.New("the other one is read first")
	for err = otherFirst; err == otherFirst; {
		err = Scan(t.Context(), conn.Client, "*", func(names []string) error {
			if len(names) == 0 {
				return otherFirst
			}
			id := strings.TrimSpace(other.do("cluster myid"))
			one.do("cluster setslot 16383 node " + strings.TrimSpace(one.do("cluster myid")))
			one.do("cluster forget " + id)
			other.kill()
			eventually(t, "one is left", func() bool { return len(conn.Client.Nodes()) == 1 })
			return nil
		})
	}
	if err == nil {
		t.Error("the scan is whole")
	}
}

type node struct {
	t            *testing.T
	address, bus string
	client       rueidis.Client
	kill         func()
}

// startNode starts a server that may be one of a cluster.
func startNode(t *testing.T) *node {
	t.Helper()
	var ports [2]string
	for i := range ports {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		testbed.OK(t, err)
		_, ports[i], _ = net.SplitHostPort(l.Addr().String())
		testbed.OK(t, l.Close())
	}
	cmd := exec.Command("redis-server", "--port", ports[0], "--cluster-port", ports[1], "--bind", "127.0.0.1",
		"--cluster-enabled", "yes", "--save", "", "--dir", t.TempDir())
	testbed.OK(t, testbed.Start(cmd))
	n := &node{t: t, address: "127.0.0.1:" + ports[0], bus: ports[1]}
	n.kill = func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	}
	t.Cleanup(n.kill)
	eventually(t, "redis-server answers", func() bool {
		var err error
		n.client, err = rueidis.NewClient(rueidis.ClientOption{InitAddress: []string{n.address}, ForceSingleClient: true, DisableCache: true})
		return err == nil
	})
	t.Cleanup(n.client.Close)
	return n
}

func (n *node) do(words string) string {
	n.t.Helper()
	s, err := n.client.Do(n.t.Context(), n.client.B().Arbitrary(strings.Fields(words)...).Build()).ToString()
	if err != nil {
		n.t.Fatal(fmt.Errorf("%s: %w", words, err))
	}
	return s
}

func eventually(t *testing.T, what string, true func() bool) {
	t.Helper()
	for deadline := time.Now().Add(30 * time.Second); !true(); time.Sleep(20 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal("not in time: " + what)
		}
	}
}
