package main

import (
	"bufio"
	"bytes"
	"fmt"
	"net"
	"strconv"
	"time"

	"jianguo/internal/must"
)

// startRedis starts a Redis, puts the ids that were seen into a set there, and returns the plain way to ask it the same
// question: SMISMEMBER. It panics on errors (must).
func (b *filterBench) startRedis() (redis *process, ask opener) {
	l := must.Get(net.Listen("tcp", "127.0.0.1:0")) // a port that was free a moment ago
	addr := l.Addr().String()
	_, port, _ := net.SplitHostPort(addr)
	must.Do(l.Close())
	redis = must.Get(startProcess(b.ctx, b.r["pinned"].(bool), b.redis, "--port", port, "--bind", "127.0.0.1",
		"--save", "", "--appendonly", "no", "--dir", b.Dir))
	fill := []string{"SADD", "seen"}
	for i := range seenIDs {
		fill = append(fill, seenID(i))
	}
	for b.ctx.Err() == nil && !redis.exited() {
		c, err := newOpener(addr, redisCommand(fill...), redisNumber)()
		if err != nil { // it does not listen yet
			time.Sleep(50 * time.Millisecond)
			continue
		}
		defer c.Close()
		must.Get(c.ask())
		ids := append([]string{"SMISMEMBER", "seen"}, mixed(candidates)...)
		return redis, newOpener(addr, redisCommand(ids...), unseenMembers)
	}
	must.Do(fmt.Errorf("redis-server does not start: %s", redis.stop()))
	return nil, nil
}

func redisCommand(args ...string) []byte {
	b := fmt.Appendf(nil, "*%d\r\n", len(args))
	for _, a := range args {
		b = fmt.Appendf(b, "$%d\r\n%s\r\n", len(a), a)
	}
	return b
}

// redisNumber reads a line of the protocol that is a number, or the length of an array.
func redisNumber(r *bufio.Reader) (int, error) {
	line, err := r.ReadSlice('\n')
	if err != nil {
		return 0, err
	}
	line = bytes.TrimSpace(line)
	if len(line) < 2 || line[0] != ':' && line[0] != '*' {
		return 0, fmt.Errorf("redis: %s", line)
	}
	return strconv.Atoi(string(line[1:]))
}

// unseenMembers reads the answer to SMISMEMBER and returns how many ids are not in the set.
func unseenMembers(r *bufio.Reader) (unseen int, err error) {
	n, err := redisNumber(r)
	for ; n > 0 && err == nil; n-- {
		var in int
		in, err = redisNumber(r)
		unseen += 1 - in
	}
	return unseen, err
}
