package filterbench

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"time"

	"github.com/bits-and-blooms/bloom/v3"

	"jianguo/cmd/jianguo-bench/proc"
)

// redis measures the three plain ways to ask Redis the same question: SMISMEMBER of a
// set; ZRANGE of a sorted set into a map here; and Bloom filters kept as strings,
// fetched and tested here with bloom/v3, five of 1,000 ids.
func (b *bench) redis() (ways []*contender, stop func(), err error) {
	r, c, err := b.startRedis()
	if err != nil {
		return nil, nil, err
	}
	if err = b.fillRedis(c); err != nil {
		r.Stop()
		return nil, nil, err
	}
	ids := b.candidates(b.Candidates)
	for _, m := range []struct {
		name   string
		cmd    []byte
		answer func() (int, error)
		to     *rates
	}{
		{"SMISMEMBER", command(append([]string{"SMISMEMBER", "set"}, ids...)...), c.smismember, &b.smismember},
		{"ZRANGE + map", command("ZRANGE", "zset", "0", "-1"), func() (int, error) { return c.zrange(ids) }, &b.zrange},
		{"blobs + bloom/v3", command("MGET", "b0", "b1", "b2", "b3", "b4"), func() (int, error) { return c.blobs(ids) }, &b.blobs},
	} {
		a := asker{c: c.c, req: m.cmd, answer: m.answer}
		ways = append(ways, &contender{name: "Redis, " + m.name, to: m.to, run: func(inFlight int, d time.Duration) (float64, error) {
			_, rps, err := a.closedLoop(b.ctx, inFlight, d, nil)
			return rps, err
		}})
	}
	return ways, func() { c.c.Close(); r.Stop() }, nil
}

// startRedis starts a server on a port that was free a moment ago, or on another one if
// that port has been taken since.
func (b *bench) startRedis() (*proc.Process, *resp, error) {
	for {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			return nil, nil, err
		}
		addr := l.Addr().String()
		_, port, _ := net.SplitHostPort(addr)
		dir, err := os.MkdirTemp(b.Dir, "redis-")
		if err := errors.Join(err, l.Close()); err != nil {
			return nil, nil, err
		}
		cmd := exec.Command(b.Redis, "--port", port, "--bind", "127.0.0.1", "--save", "", "--appendonly", "no", "--dir", dir)
		var said bytes.Buffer
		cmd.Stdout = &said
		r, err := proc.Start(cmd, b.cpu)
		if err != nil {
			return nil, nil, err
		}
		for deadline := time.Now().Add(time.Minute); !r.Exited(); time.Sleep(50 * time.Millisecond) {
			if c, err := dialRESP(addr); err == nil && !r.Exited() {
				return r, c, nil
			}
			if b.ctx.Err() != nil || time.Now().After(deadline) {
				break
			}
		}
		r.Stop()
		if !strings.Contains(said.String(), "in use") || b.ctx.Err() != nil {
			return nil, nil, fmt.Errorf("redis-server does not start: %s", said.String())
		}
	}
}

func (b *bench) fillRedis(c *resp) error {
	set, zset := []string{"SADD", "set"}, []string{"ZADD", "zset"}
	filters := make([]*bloom.BloomFilter, 5)
	for i := range filters {
		filters[i] = bloom.NewWithEstimates(uint(b.Seen/5+1), 0.001)
	}
	for i := range b.Seen {
		set = append(set, seenID(i))
		zset = append(zset, strconv.Itoa(i), seenID(i))
		filters[i*5/b.Seen].AddString(seenID(i))
	}
	cmds := [][]string{set, zset}
	for i, f := range filters {
		blob, err := f.MarshalBinary()
		if err != nil {
			return err
		}
		cmds = append(cmds, []string{"SET", "b" + strconv.Itoa(i), string(blob)})
	}
	for _, cmd := range cmds {
		if _, err := c.c.Write(command(cmd...)); err != nil {
			return err
		}
		if _, err := c.line(); err != nil {
			return err
		}
	}
	return nil
}

// resp is a connection that speaks the protocol of Redis.
type resp struct {
	c    net.Conn
	r    *bufio.Reader
	buf  []byte
	seen map[string]struct{}
}

func dialRESP(addr string) (*resp, error) {
	c, err := net.Dial("tcp", addr)
	if err != nil {
		return nil, err
	}
	return &resp{c: c, r: bufio.NewReaderSize(c, 128<<10)}, nil
}

func command(args ...string) []byte {
	b := fmt.Appendf(nil, "*%d\r\n", len(args))
	for _, a := range args {
		b = fmt.Appendf(b, "$%d\r\n%s\r\n", len(a), a)
	}
	return b
}

func (c *resp) line() ([]byte, error) {
	l, err := c.r.ReadSlice('\n')
	if err != nil {
		return nil, err
	}
	if len(l) < 3 || l[0] == '-' {
		return nil, fmt.Errorf("redis: %s", bytes.TrimSpace(l))
	}
	return l[:len(l)-2], nil
}

func (c *resp) number(kind byte) (int, error) {
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

// bulk reads a string, valid until the next one.
func (c *resp) bulk() ([]byte, error) {
	n, err := c.number('$')
	if err != nil {
		return nil, err
	}
	if cap(c.buf) < n+2 {
		c.buf = make([]byte, n+2)
	}
	_, err = io.ReadFull(c.r, c.buf[:n+2])
	return c.buf[:n], err
}

func (c *resp) smismember() (unseen int, err error) {
	n, err := c.number('*')
	for ; n > 0 && err == nil; n-- {
		var in int
		in, err = c.number(':')
		unseen += 1 - in
	}
	return unseen, err
}

func (c *resp) zrange(ids []string) (unseen int, err error) {
	n, err := c.number('*')
	c.seen = make(map[string]struct{}, n)
	for ; n > 0 && err == nil; n-- {
		var id []byte
		if id, err = c.bulk(); err == nil {
			c.seen[string(id)] = struct{}{}
		}
	}
	for _, id := range ids {
		if _, in := c.seen[id]; !in {
			unseen++
		}
	}
	return unseen, err
}

func (c *resp) blobs(ids []string) (unseen int, err error) {
	n, err := c.number('*')
	var filters []*bloom.BloomFilter
	for ; n > 0 && err == nil; n-- {
		var blob []byte
		if blob, err = c.bulk(); err == nil {
			f := new(bloom.BloomFilter)
			err = f.UnmarshalBinary(blob)
			filters = append(filters, f)
		}
	}
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
