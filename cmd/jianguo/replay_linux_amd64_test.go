//go:build !race

package main

import (
	"fmt"
	"path/filepath"
	"testing"
	"time"

	"jianguo/exposure/redis"
	"jianguo/internal/testbed"
)

// TestReplayGoesByTheBus: an owner that begins again applies the last minute of the log, however far its own clock is
// ahead of that of the bus.
func TestReplayGoesByTheBus(t *testing.T) {
	t.Parallel()
	addr := startRedis(t)
	s := serveReady(t, binary(t), filepath.Join(t.TempDir(), "data"), "--nats", startBroker(t, nil).url(), "--exposure-store", "redis://"+addr)
	clock, err := clockOf(s.cmd.Process.Pid)
	testbed.OK(t, err)
	testbed.OK(t, clock.Ahead(2*time.Hour))
	s.ask("/exposures", `{"user":"u","kind":"seen","items":["a"]}`, nil)
	client := redisClient(t, addr)
	redisDo(t, client, "DEL", "jianguo:{u}:") // as a fail-over does that loses the last moments
	redisDo(t, client, "HSET", fmt.Sprint("jianguo:part:", redis.PartitionOf("u")), "epoch", "000000000000ffff")
	neighbour := "v"
	for redis.PartitionOf(neighbour) != redis.PartitionOf("u") {
		neighbour += "v"
	}
	s.ask("/exposures", fmt.Sprintf(`{"user":%q,"kind":"seen","items":["a"]}`, neighbour), nil)
	var got struct{ Items []string }
	if s.ask("/filter", `{"user":"u","items":["a","c"]}`, &got); len(got.Items) != 1 {
		t.Errorf("shown again: %q", got.Items)
	}
	s.stop()
}
