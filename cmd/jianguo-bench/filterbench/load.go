package filterbench

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
	return h.answer()
}

// answer reads one answer. It is valid until the next.
func (h *httpConn) answer() ([]byte, error) {
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

// asker repeats one request on a connection. answer reads one answer and returns its
// size, in ids or bytes, which must be the same each time.
type asker struct {
	c      net.Conn
	req    []byte
	answer func() (int, error)
}

// ahead returns a write that keeps more requests in flight than the one whose answer is read by one, and
// what ends that: it reads the answers that are due, unless there was an error, which it returns. A goroutine writes: a
// large request may not fit into the socket's buffer before an answer has been read.
func (a *asker) ahead(more int, one func() error) (write func() error, end func(error) error) {
	due := make(chan struct{}, more+1)
	failed := make(chan error, 1)
	go func() {
		for range due {
			if _, err := a.c.Write(a.req); err != nil {
				failed <- err
				a.c.Close() // ends the reader
				return
			}
		}
		failed <- nil
	}()
	for range more {
		due <- struct{}{}
	}
	return func() error { due <- struct{}{}; return nil }, func(err error) error {
		for i := 0; i < more && err == nil; i++ {
			err = one()
		}
		if err != nil {
			a.c.Close() // the writer may be blocked
		}
		close(due)
		return errors.Join(err, <-failed)
	}
}

// closedLoop keeps a number of requests in flight for a time, after a warm-up of a
// fifth of that time. warm, if not nil, is called after the warm-up.
func (a *asker) closedLoop(ctx context.Context, inFlight int, d time.Duration, warm func() error) (n int, rps float64, err error) {
	want := -1
	one := func() error {
		got, err := a.answer()
		switch {
		case err != nil:
			return err
		case want < 0:
			want = got
		case got != want || got == 0:
			return fmt.Errorf("an answer of %d, and of %d before", got, want)
		}
		return ctx.Err()
	}
	write := func() error { _, err := a.c.Write(a.req); return err }
	if inFlight > 1 {
		var end func(error) error
		write, end = a.ahead(inFlight-1, one)
		defer func() { err = end(err) }()
	}
	loop := func(d time.Duration) (n int, took time.Duration, err error) {
		for start := time.Now(); ; {
			if took = time.Since(start); took >= d {
				return n, took, nil
			}
			if err = write(); err == nil {
				err = one()
			}
			if err != nil {
				return n, took, err
			}
			n++
		}
	}
	if _, _, err = loop(d / 5); err != nil {
		return 0, 0, err
	}
	if warm != nil {
		if err = warm(); err != nil {
			return 0, 0, err
		}
	}
	n, took, err := loop(d)
	return n, float64(n) / took.Seconds(), err
}

// ask runs a closed loop on a connection of its own, and returns the processor time of
// the server for each request.
func (s *server) ask(ctx context.Context, req []byte, inFlight int, d time.Duration) (rps, cpuMicros float64, err error) {
	c, err := dialHTTP(s.Addr)
	if err != nil {
		return 0, 0, err
	}
	defer c.c.Close()
	a := asker{c: c.c, req: req, answer: func() (int, error) { b, err := c.answer(); return len(b), err }}
	var before, after time.Duration
	n, rps, err := a.closedLoop(ctx, inFlight, d, func() error { before, err = s.CPUTime(); return err })
	if err != nil {
		return 0, 0, err
	}
	after, err = s.CPUTime()
	return rps, float64((after - before).Microseconds()) / float64(n), err
}

// connections limits the requests in flight of an open loop.
const connections = 16

// requests returns the nth request of a loop. It may reuse buf, which holds an earlier
// request that has been answered.
type requests func(n int, buf []byte) []byte

// always is the same request each time.
func always(req []byte) requests { return func(int, []byte) []byte { return req } }

// peak is the rate of a closed loop on as many connections as an open loop has, all of
// them always busy.
func (s *server) peak(ctx context.Context, next requests, d time.Duration) (float64, error) {
	const busy = connections
	var n atomic.Int64
	var wg sync.WaitGroup
	errs := make([]error, busy)
	start := time.Now()
	for i := range busy {
		wg.Go(func() {
			c, err := dialHTTP(s.Addr)
			if err != nil {
				errs[i] = err
				return
			}
			defer c.c.Close()
			var buf []byte
			for time.Since(start) < d && ctx.Err() == nil {
				buf = next(int(n.Add(1)-1), buf)
				if _, err := c.do(buf); err != nil {
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

// turn is a request of an open loop.
type turn struct {
	k    int
	due  time.Time
	woke time.Time // when it was queued, or sent if a connection was free
	free bool      // a connection was free then
	req  []byte
}

// openLoop holds the connections of an open loop: requests are sent at fixed intervals,
// whether or not earlier ones have been answered.
type openLoop struct {
	s     *server
	conns []*httpConn
}

func (s *server) openLoop() (*openLoop, error) {
	o := &openLoop{s: s}
	for range connections {
		c, err := dialHTTP(s.Addr)
		if err != nil {
			o.close()
			return nil, err
		}
		o.conns = append(o.conns, c)
	}
	return o, nil
}

func (o *openLoop) close() {
	for _, c := range o.conns {
		c.c.Close()
	}
}

// warmUp is the part of a loop that does not count: caches and branch predictors still
// belong to the process that ran before.
const warmUp = 25 * time.Millisecond

// run sends requests for d. A latency counts from the time at which the request was due,
// even if no connection was free then. late is the part that the load itself causes:
// from the due time until the request was sent or, if all connections were busy, queued.
// busy is the share of a processor that the server used.
//
// A thread of its own keeps the time: an idle Go program waits in whole milliseconds,
// which would be charged to the server.
func (o *openLoop) run(ctx context.Context, next requests, rps float64, d time.Duration) (lat, late latencies, busy float64, err error) {
	warm := int(rps * warmUp.Seconds())
	total := warm + max(1, int(rps*d.Seconds()))
	interval := time.Duration(float64(time.Second) / rps)
	var wg sync.WaitGroup
	errs := make([]error, connections)
	lat, late = make(latencies, total), make(latencies, total)
	var out atomic.Int64                     // queued or sent, and not answered
	turns := make(chan turn, total)          // never blocks the clock
	used := make(chan []byte, connections+2) // buffers of answered requests
	micros := func(from, to time.Time) float64 { return float64(to.Sub(from).Nanoseconds()) / 1000 }
	for i, c := range o.conns {
		wg.Go(func() {
			for t := range turns {
				if sent := time.Now(); t.free {
					t.woke = sent
				}
				if _, err := c.do(t.req); err != nil {
					errs[i] = err
					return
				}
				out.Add(-1)
				lat[t.k], late[t.k] = micros(t.due, time.Now()), micros(t.due, t.woke)
				select {
				case used <- t.req:
				default:
				}
			}
		})
	}
	began := time.Now()
	before, err1 := o.s.CPUTime()
	wg.Go(func() {
		defer close(turns)
		defer preciseThread()()
		start := time.Now().Add(10 * time.Millisecond)
		for k := 0; k < total && ctx.Err() == nil; k++ {
			var buf []byte
			select {
			case buf = <-used:
			default:
			}
			t := turn{k: k, due: start.Add(time.Duration(k) * interval), req: next(k, buf)}
			sleepUntil(t.due)
			t.woke, t.free = time.Now(), out.Add(1) <= connections
			turns <- t
		}
	})
	wg.Wait()
	after, err2 := o.s.CPUTime()
	busy = float64(after-before) / float64(time.Since(began))
	return lat[warm:], late[warm:], busy, errors.Join(errors.Join(errs...), ctx.Err(), err1, err2)
}

// figures are medians of latencies, in microseconds, and of the share of a processor
// that the server used.
type figures struct {
	p50, p99 float64 // of a round
	slice99  float64 // p99 of a slice
	quiet50  float64 // of all slices without stolen time
	quiet99  float64
	quiet    float64 // the share of these
	late99   float64 // of a round, of how late the load itself was
	busy     float64
}

func (f figures) String() string {
	return fmt.Sprintf("p50 %.0f µs, p99 %.0f µs (of a slice %.0f), of the %.0f %% undisturbed slices p50 %.0f, p99 %.0f; %.0f %% busy", f.p50, f.p99, f.slice99, 100*f.quiet, f.quiet50, f.quiet99, 100*f.busy)
}

// measured collects the values behind figures.
type measured struct {
	lat, late                       latencies   // of this round
	rounds                          []latencies // completed, each sorted
	quiet                           latencies   // of slices without stolen time
	quietSlices                     int
	p50, p99, slice99, late99, busy []float64
}

// slice adds the latencies of a slice; disturbed: the host stole time from it.
func (m *measured) slice(lat, late latencies, busy float64, disturbed bool) {
	if !disturbed {
		m.quiet = append(m.quiet, lat...)
		m.quietSlices++
	}
	m.lat, m.late, m.busy = append(m.lat, lat...), append(m.late, late...), append(m.busy, busy)
	slices.Sort(lat)
	m.slice99 = append(m.slice99, lat.at(0.99))
}

// round completes a round.
func (m *measured) round() {
	slices.Sort(m.lat)
	slices.Sort(m.late)
	m.p50, m.p99, m.late99 = append(m.p50, m.lat.at(0.5)), append(m.p99, m.lat.at(0.99)), append(m.late99, m.late.at(0.99))
	m.rounds, m.lat, m.late = append(m.rounds, m.lat), nil, nil
}

// typical is the round whose p99 is the median.
func (m *measured) typical() latencies {
	return m.rounds[slices.Index(m.p99, median(slices.Clone(m.p99)))]
}

func (m *measured) figures() figures {
	slices.Sort(m.quiet)
	return figures{
		p50: median(m.p50), p99: median(m.p99), slice99: median(m.slice99), late99: median(m.late99), busy: median(m.busy),
		quiet50: m.quiet.at(0.5), quiet99: m.quiet.at(0.99), quiet: float64(m.quietSlices) / float64(len(m.slice99)),
	}
}

// steadiness is what steady measures.
type steadiness struct {
	peak, rate   float64   // requests a second: what it can answer at most, and what it was asked
	lat          latencies // of the round whose p99 is the median
	own, control figures
}

func (st steadiness) String() string {
	return fmt.Sprintf("%s, the load late by %.0f; the control: %s", st.own, st.own.late99, st.control)
}

// pace is the rate of an open loop: requests a second or, if that is 0, a share of the
// peak.
type pace struct{ rate, share float64 }

// slice is the length of a turn of the server or its control. Another tenant of the host
// comes and goes within tenths of a second, and should disturb both alike.
const slice = 250 * time.Millisecond

// steady measures an open loop at a pace: the medians of some rounds. Each round
// measures the peak again, since that of a shared machine moves, and then asks the
// server and the control in turns, slice by slice, at the same rate. The control works
// on a request as long as the server did. Its latency is that of a server on this
// machine that is as busy and never waits.
func (s *server) steady(ctx context.Context, next requests, control *server, like requests, at pace, d time.Duration) (st steadiness, err error) {
	const rounds = 5
	var peaks, rates []float64
	var own, other measured
	for range rounds {
		peak, err := s.peak(ctx, next, d/2)
		if err != nil {
			return st, err
		}
		rate := at.rate
		if rate == 0 {
			rate = at.share * peak
		}
		peaks, rates = append(peaks, peak), append(rates, rate)
		if err := s.round(ctx, next, control, like, rate, d, &own, &other); err != nil {
			return st, err
		}
		own.round()
		other.round()
	}
	st.lat = own.typical() // before figures sorts the values
	st.peak, st.rate, st.own, st.control = median(peaks), median(rates), own.figures(), other.figures()
	return st, nil
}

// round is one round: slices of the server and of its control, in turns. It opens new
// connections: a server closes idle ones after a while.
func (s *server) round(ctx context.Context, next requests, control *server, like requests, rate float64, d time.Duration, own, other *measured) error {
	mine, err := s.openLoop()
	if err != nil {
		return err
	}
	defer mine.close()
	its, err := control.openLoop()
	if err != nil {
		return fmt.Errorf("control: %w", err)
	}
	defer its.close()
	for remaining := d; remaining > 0; remaining -= slice {
		long := min(slice, remaining)
		before := stolen()
		lat, late, busy, err := mine.run(ctx, next, rate, long)
		if err != nil {
			return err
		}
		own.slice(lat, late, busy, stolen() != before)
		// First without work, then with the work that is missing.
		_, _, bare, err := its.run(ctx, like, rate, long/4)
		if err != nil {
			return fmt.Errorf("control: %w", err)
		}
		before = stolen()
		lat, late, busy, err = its.run(ctx, withWork(like, int(max(0, busy-bare)/rate*1e6)), rate, long)
		if err != nil {
			return fmt.Errorf("control: %w", err)
		}
		other.slice(lat, late, busy, stolen() != before)
	}
	return nil
}
