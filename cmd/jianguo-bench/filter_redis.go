package main

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"net"
	"strconv"
	"time"

	"github.com/bits-and-blooms/bloom/v3"
)

// redisWays starts a Redis and returns the three plain ways to ask it the same question: SMISMEMBER of a set; ZRANGE of
// a sorted set into a map here; and Bloom filters kept as strings, fetched and tested here with bloom/v3, five of 1,000
// ids.
func (b *filterBench) redisWays() (redis *process, ways []*way, err error) {
	redis, err = b.startRedis()
	if err != nil {
		return nil, nil, err
	}
	if err := fillRedis(redis.addr); err != nil {
		return nil, nil, fmt.Errorf("%w: %s", err, redis.stop())
	}
	ids := mixed(candidates)
	asked := func(answer func(*redisClient, []string) (int, error), args ...string) opener {
		req := redisCommand(args...)
		return func() (client, error) {
			c, err := dialRedis(redis.addr)
			if err != nil {
				return nil, err
			}
			c.req, c.answer = req, func() (int, error) { return answer(c, ids) }
			return c, nil
		}
	}
	smismember := append([]string{"SMISMEMBER", "set"}, ids...)
	blobs := []string{"MGET", "b0", "b1", "b2", "b3", "b4"}
	return redis, []*way{
		{open: asked((*redisClient).smismember, smismember...), one: &b.r.SMIsMember1, several: &b.r.SMIsMember},
		{open: asked((*redisClient).zrange, "ZRANGE", "zset", "0", "-1"), one: &b.r.ZRange1, several: &b.r.ZRange},
		{open: asked((*redisClient).blobs, blobs...), one: &b.r.Blobs1, several: &b.r.Blobs},
	}, nil
}

// startRedis starts a server on a port that was free a moment ago.
func (b *filterBench) startRedis() (*process, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	addr := l.Addr().String()
	_, port, _ := net.SplitHostPort(addr)
	if err := l.Close(); err != nil {
		return nil, err
	}
	redis, err := startProcess(b.ctx, b.r.Pinned, b.redis, "--port", port, "--bind", "127.0.0.1", "--save", "",
		"--appendonly", "no", "--dir", b.Dir)
	if err != nil {
		return nil, err
	}
	redis.addr = addr
	for !redis.exited() && b.ctx.Err() == nil {
		if c, err := dialRedis(addr); err == nil {
			return redis, c.Close()
		}
		time.Sleep(50 * time.Millisecond)
	}
	return nil, fmt.Errorf("redis-server does not start: %s", redis.stop())
}

func fillRedis(addr string) error {
	set, zset := []string{"SADD", "set"}, []string{"ZADD", "zset"}
	filters := make([]*bloom.BloomFilter, 5)
	for i := range filters {
		filters[i] = bloom.NewWithEstimates(seenIDs/5+1, 0.001)
	}
	for i := range seenIDs {
		set = append(set, seenID(i))
		zset = append(zset, strconv.Itoa(i), seenID(i))
		filters[i*5/seenIDs].AddString(seenID(i))
	}
	commands := [][]string{set, zset}
	for i, f := range filters {
		blob, err := f.MarshalBinary()
		if err != nil {
			return err
		}
		commands = append(commands, []string{"SET", "b" + strconv.Itoa(i), string(blob)})
	}
	c, err := dialRedis(addr)
	if err != nil {
		return err
	}
	defer c.Close()
	for _, args := range commands {
		if _, err := c.Write(redisCommand(args...)); err != nil {
			return err
		}
		if _, err := c.line(); err != nil {
			return err
		}
	}
	return nil
}

func redisCommand(args ...string) []byte {
	b := fmt.Appendf(nil, "*%d\r\n", len(args))
	for _, a := range args {
		b = fmt.Appendf(b, "$%d\r\n%s\r\n", len(a), a)
	}
	return b
}

// redisClient is a connection that repeats one request.
type redisClient struct {
	net.Conn
	r      *bufio.Reader
	req    []byte
	answer func() (int, error) // reads an answer and returns how many ids are unseen
	buf    []byte
}

func dialRedis(addr string) (*redisClient, error) {
	c, err := net.Dial("tcp", addr)
	if err != nil {
		return nil, err
	}
	return &redisClient{Conn: c, r: bufio.NewReaderSize(c, 256<<10)}, nil
}

func (c *redisClient) ask(int) (int, error) {
	if _, err := c.Write(c.req); err != nil {
		return 0, err
	}
	return c.answer()
}

func (c *redisClient) line() ([]byte, error) {
	l, err := c.r.ReadSlice('\n')
	if err != nil {
		return nil, err
	}
	if len(l) < 3 || l[0] == '-' {
		return nil, fmt.Errorf("redis: %s", bytes.TrimSpace(l))
	}
	return l[:len(l)-2], nil
}

func (c *redisClient) number(kind byte) (int, error) {
	l, err := c.line()
	if err != nil {
		return 0, err
	}
	if l[0] != kind {
		return 0, errors.New("redis: unexpected answer")
	}
	n := 0
	for _, d := range l[1:] {
		n = n*10 + int(d-'0')
	}
	return n, nil
}

// strings calls f with each string of an array; it is valid during the call.
func (c *redisClient) strings(f func([]byte) error) error {
	n, err := c.number('*')
	for ; n > 0 && err == nil; n-- {
		var size int
		if size, err = c.number('$'); err != nil {
			break
		}
		if cap(c.buf) < size+2 {
			c.buf = make([]byte, size+2)
		}
		if _, err = io.ReadFull(c.r, c.buf[:size+2]); err == nil {
			err = f(c.buf[:size])
		}
	}
	return err
}

func (c *redisClient) smismember([]string) (unseen int, err error) {
	n, err := c.number('*')
	for ; n > 0 && err == nil; n-- {
		var in int
		in, err = c.number(':')
		unseen += 1 - in
	}
	return unseen, err
}

func (c *redisClient) zrange(ids []string) (unseen int, err error) {
	seen := make(map[string]struct{}, seenIDs)
	err = c.strings(func(id []byte) error {
		seen[string(id)] = struct{}{}
		return nil
	})
	for _, id := range ids {
		if _, in := seen[id]; !in {
			unseen++
		}
	}
	return unseen, err
}

func (c *redisClient) blobs(ids []string) (unseen int, err error) {
	var filters []*bloom.BloomFilter
	err = c.strings(func(blob []byte) error {
		f := new(bloom.BloomFilter)
		filters = append(filters, f)
		return f.UnmarshalBinary(blob)
	})
	for _, id := range ids {
		in := false
		for _, f := range filters {
			if in = f.TestString(id); in {
				break
			}
		}
		if !in {
			unseen++
		}
	}
	return unseen, err
}
