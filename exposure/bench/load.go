package bench

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"time"
)

// httpRequest prepares the bytes of a POST.
func httpRequest(path, accept string, body []byte) []byte {
	return append(fmt.Appendf(nil, "POST %s HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nAccept: %s\r\nContent-Length: %d\r\n\r\n",
		path, accept, len(body)), body...)
}

// httpConn is one connection that sends prepared requests.
type httpConn struct {
	c   net.Conn
	r   *bufio.Reader
	buf []byte
}

func dialHTTP(addr string) (*httpConn, error) {
	c, err := net.Dial("tcp", addr)
	if err != nil {
		return nil, err
	}
	return &httpConn{c: c, r: bufio.NewReaderSize(c, 128<<10)}, nil
}

var (
	statusOK      = []byte("HTTP/1.1 200")
	contentLength = []byte("Content-Length: ")
)

// do sends a request and reads the whole answer.
func (h *httpConn) do(req []byte) ([]byte, error) {
	if _, err := h.c.Write(req); err != nil {
		return nil, err
	}
	length, ok := -1, false
	for {
		line, err := h.r.ReadSlice('\n')
		if err != nil {
			return nil, err
		}
		switch {
		case bytes.HasPrefix(line, statusOK):
			ok = true
		case bytes.HasPrefix(line, contentLength):
			length, err = strconv.Atoi(string(bytes.TrimSpace(line[len(contentLength):])))
			if err != nil {
				return nil, err
			}
		}
		if len(line) == 2 {
			break
		}
	}
	if length < 0 {
		return nil, errors.New("an answer without a length")
	}
	if cap(h.buf) < length {
		h.buf = make([]byte, length)
	}
	if _, err := io.ReadFull(h.r, h.buf[:length]); err != nil {
		return nil, err
	}
	if !ok {
		return nil, fmt.Errorf("answered %s", h.buf[:min(length, 300)])
	}
	return h.buf[:length], nil
}

// closedLoop sends one request after the other on one connection, for a time, after
// a warm-up of a fifth of it.
func (s *server) closedLoop(ctx context.Context, req []byte, d time.Duration) (rps, cpuMicros float64, err error) {
	c, err := dialHTTP(s.addr)
	if err != nil {
		return 0, 0, err
	}
	defer c.c.Close()
	run := func(d time.Duration) (n int, took time.Duration, err error) {
		start := time.Now()
		for ; time.Since(start) < d && ctx.Err() == nil; n++ {
			if _, err := c.do(req); err != nil {
				return n, 0, err
			}
		}
		return n, time.Since(start), ctx.Err()
	}
	if _, _, err = run(d / 5); err != nil {
		return 0, 0, err
	}
	before, err := s.cpuTime()
	if err != nil {
		return 0, 0, err
	}
	n, took, err := run(d)
	if err != nil {
		return 0, 0, err
	}
	after, err := s.cpuTime()
	return float64(n) / took.Seconds(), float64((after - before).Microseconds()) / float64(n), err
}

// connections is how many an open loop may have in flight.
const connections = 16

// peak is the rate of a closed loop on a few connections, each always busy. next
// gives the nth request.
func (s *server) peak(ctx context.Context, next func(n int) []byte, d time.Duration) (float64, error) {
	const busy = 4
	var n atomic.Int64
	var wg sync.WaitGroup
	errs := make([]error, busy)
	start := time.Now()
	for i := range busy {
		wg.Go(func() {
			c, err := dialHTTP(s.addr)
			if err != nil {
				errs[i] = err
				return
			}
			defer c.c.Close()
			for time.Since(start) < d && ctx.Err() == nil {
				if _, err := c.do(next(int(n.Add(1) - 1))); err != nil {
					errs[i] = err
					return
				}
			}
		})
	}
	wg.Wait()
	return float64(n.Load()) / time.Since(start).Seconds(), errors.Join(errs...)
}

// latencies are sorted, in microseconds.
type latencies []float64

func (l latencies) at(q float64) float64 {
	if len(l) == 0 {
		return 0
	}
	return l[min(len(l)-1, int(q*float64(len(l))))]
}

// openLoop sends requests at fixed intervals. A request is due when it is due, and its
// latency counts from then, however late a connection comes free for it.
func (s *server) openLoop(ctx context.Context, next func(n int) []byte, rps float64, d time.Duration) (latencies, error) {
	total := int(rps * d.Seconds())
	interval := time.Duration(float64(time.Second) / rps)
	var n atomic.Int64
	var wg sync.WaitGroup
	errs := make([]error, connections)
	all := make(latencies, total)
	conns := make([]*httpConn, connections)
	for i := range conns {
		var err error
		if conns[i], err = dialHTTP(s.addr); err != nil {
			return nil, err
		}
		defer conns[i].c.Close()
	}
	start := time.Now().Add(10 * time.Millisecond)
	for i := range connections {
		wg.Go(func() {
			for ctx.Err() == nil {
				k := int(n.Add(1) - 1)
				if k >= total {
					return
				}
				due := start.Add(time.Duration(k) * interval)
				req := next(k)
				time.Sleep(time.Until(due))
				if _, err := conns[i].do(req); err != nil {
					errs[i] = err
					return
				}
				all[k] = float64(time.Since(due).Nanoseconds()) / 1000
			}
		})
	}
	wg.Wait()
	slices.Sort(all)
	return all, errors.Join(errors.Join(errs...), ctx.Err())
}
