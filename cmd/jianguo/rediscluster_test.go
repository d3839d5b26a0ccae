package main

import (
	"context"
	"fmt"
	"os/exec"
	"strings"
	"testing"
	"time"
)

// redisCluster is a Redis Cluster of three masters with a replica each, each a process that can be killed.
type redisCluster struct {
	t     *testing.T
	nodes [6]*process
	ports []int
}

func startRedisNodes(t *testing.T) *redisCluster {
	t.Helper()
	r := &redisCluster{t: t, ports: freePorts(t, 6)}
	create := []string{"--cluster", "create"}
	for i, port := range r.ports {
		r.nodes[i] = newProcess(t, "redis-server", t.TempDir())
		r.start(i)
		create = append(create, fmt.Sprint("127.0.0.1:", port))
	}
	t.Cleanup(func() {
		for _, n := range r.nodes {
			n.kill()
		}
	})
	for i := range r.nodes {
		r.nodes[0].eventually("redis-server starts", func() bool { return strings.Contains(r.cli(i, "PING"), "PONG") })
	}
	does(t, "redis-cli", "", append(create, "--cluster-replicas", "1", "--cluster-yes")...)
	r.settle()
	return r
}

func (r *redisCluster) start(i int) {
	r.t.Helper()
	n := r.nodes[i]
	n.run(exec.Command(n.binary, "--port", fmt.Sprint(r.ports[i]), "--bind", "127.0.0.1", "--cluster-enabled", "yes", "--cluster-node-timeout", "1000",
		"--repl-diskless-sync-delay", "0", "--appendonly", "yes", "--appendfsync", "everysec", "--save", "", "--dir", n.data))
}

// cli asks a node; what a node says that does not answer is empty.
func (r *redisCluster) cli(i int, words ...string) string {
	ctx, cancel := context.WithTimeout(r.t.Context(), time.Second)
	defer cancel()
	out, _ := exec.CommandContext(ctx, "redis-cli", append([]string{"-p", fmt.Sprint(r.ports[i])}, words...)...).Output()
	return string(out)
}

// settle waits until all masters have their replicas.
func (r *redisCluster) settle() {
	r.t.Helper()
	r.nodes[0].eventually("the Redis Cluster is whole", func() bool {
		masters, replicas := 0, 0
		for i := range r.nodes {
			info := r.cli(i, "INFO", "replication")
			if strings.Contains(info, "role:master") && strings.Contains(info, "connected_slaves:1") {
				masters++
			}
			if strings.Contains(info, "master_link_status:up") && strings.Contains(r.cli(i, "CLUSTER", "INFO"), "cluster_state:ok") {
				replicas++
			}
		}
		return masters == 3 && replicas == 3
	})
}

// master is the number of one that is a master now.
func (r *redisCluster) master(i int) int {
	var masters []int
	for n := range r.nodes {
		if strings.Contains(r.cli(n, "ROLE"), "master") {
			masters = append(masters, n)
		}
	}
	return masters[i%len(masters)]
}

// url names all nodes.
func (r *redisCluster) url() string {
	var hosts []string
	for _, port := range r.ports {
		hosts = append(hosts, fmt.Sprint("127.0.0.1:", port))
	}
	return "redis://" + strings.Replace(strings.Join(hosts, "&addr="), "&", "?", 1)
}
