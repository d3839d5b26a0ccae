package main

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"runtime"
	"strconv"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"
	"golang.org/x/sys/unix"
)

// client is a connection that repeats one prepared request.
type client struct {
	net.Conn
	r       *bufio.Reader
	request []byte
	answer  func(*bufio.Reader) (size int, err error) // reads one answer: its size, in ids or bytes
}

func (c *client) ask() (size int, err error) {
	if _, err := c.Write(c.request); err != nil {
		return 0, err
	}
	return c.answer(c.r)
}

type opener func() (*client, error)

func newOpener(addr string, request []byte, answer func(*bufio.Reader) (int, error)) opener {
	return func() (*client, error) {
		c, err := net.Dial("tcp", addr)
		if err != nil {
			return nil, err
		}
		return &client{Conn: c, r: bufio.NewReaderSize(c, 256<<10), request: request, answer: answer}, nil
	}
}

// closedLoop keeps a number of requests in flight for d, after a warm-up of a fifth of that, and returns how many were
// answered a second, and the processor time of the server for each, in microseconds.
func closedLoop(ctx context.Context, server *process, inFlight int, d time.Duration,
	open opener) (rate, cpu float64, err error) {
	g, ctx := errgroup.WithContext(ctx)
	var answered atomic.Int64
	var finished atomic.Bool
	for range inFlight {
		g.Go(func() error {
			c, err := open()
			if err != nil {
				return err
			}
			defer c.Close()
			for size := -1; !finished.Load() && ctx.Err() == nil; answered.Add(1) {
				got, err := c.ask()
				if err == nil && (got == 0 || size >= 0 && got != size) {
					err = fmt.Errorf("an answer of %d, and of %d before", got, size)
				}
				if err != nil {
					return err
				}
				size = got
			}
			return nil
		})
	}
	var n [2]int64
	var at [2]time.Time
	var used [2]time.Duration
	for i, wait := range []time.Duration{d / 5, d} {
		select {
		case <-time.After(wait):
		case <-ctx.Done():
		}
		n[i], at[i] = answered.Load(), time.Now()
		if used[i], err = server.cpuTime(); err != nil {
			break
		}
	}
	finished.Store(true)
	count := float64(n[1] - n[0])
	return count / at[1].Sub(at[0]).Seconds(), micros(used[1]-used[0]) / max(count, 1), errors.Join(g.Wait(), err)
}

func filterOpener(server *process, accept string, body []byte) opener {
	head := fmt.Appendf(nil, "POST /filter HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"+
		"Accept: %s\r\nContent-Length: %d\r\n\r\n", accept, len(body))
	return newOpener(server.addr, append(head, body...), httpAnswer)
}

// httpAnswer reads an answer and returns the length of its body.
func httpAnswer(r *bufio.Reader) (size int, err error) {
	ok := false
	for {
		line, err := r.ReadSlice('\n')
		if err != nil {
			return 0, err
		}
		if bytes.HasPrefix(line, []byte("HTTP/1.1 200")) {
			ok = true
		}
		if length, found := bytes.CutPrefix(line, []byte("Content-Length: ")); found {
			if size, err = strconv.Atoi(string(bytes.TrimSpace(length))); err != nil {
				return 0, err
			}
		}
		if len(line) == 2 {
			break
		}
	}
	if !ok {
		body, _ := io.ReadAll(io.LimitReader(r, int64(min(size, 300))))
		return 0, fmt.Errorf("answered %s", body)
	}
	_, err = r.Discard(size)
	return size, err
}

// connections limits the requests in flight of an open loop.
const connections = 16

// openLoop sends so many requests a second for d, whether or not earlier ones have been answered, and returns how long
// each took since it was due. A thread of its own keeps the time: an idle Go program waits in whole milliseconds, which
// would be charged to the server.
func openLoop(ctx context.Context, open opener, rate float64, d time.Duration) (samples, error) {
	n := max(1, int(rate*d.Seconds()))
	took := make(samples, n)
	turns := make(chan int, n) // never blocks the clock
	start, interval := time.Now().Add(10*time.Millisecond), time.Duration(float64(time.Second)/rate)
	due := func(k int) time.Time { return start.Add(time.Duration(k) * interval) }
	g, ctx := errgroup.WithContext(ctx)
	for range connections {
		g.Go(func() error {
			c, err := open()
			if err != nil {
				return err
			}
			defer c.Close()
			for k := range turns {
				if _, err := c.ask(); err != nil {
					return err
				}
				took[k] = micros(time.Since(due(k)))
			}
			return nil
		})
	}
	g.Go(func() error {
		defer close(turns)
		// The thread must go on afterwards: with it end the processes that it started.
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		_ = unix.Prctl(unix.PR_SET_TIMERSLACK, 1, 0, 0, 0)   // timers without slack; the default is 50 µs
		defer unix.Prctl(unix.PR_SET_TIMERSLACK, 0, 0, 0, 0) // back to the default
		for k := 0; k < n && ctx.Err() == nil; k++ {
			sleepUntil(due(k))
			turns <- k
		}
		return ctx.Err()
	})
	return took, g.Wait()
}

func sleepUntil(t time.Time) {
	for d := time.Until(t); d > 0; d = time.Until(t) {
		ts := unix.NsecToTimespec(d.Nanoseconds())
		_ = unix.Nanosleep(&ts, nil) // if interrupted, the loop waits for the rest
	}
}
