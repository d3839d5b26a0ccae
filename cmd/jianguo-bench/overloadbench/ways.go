package overloadbench

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"strings"
	"time"

	"github.com/nats-io/nats.go"

	"jianguo/bus"
	"jianguo/cmd/jianguo-bench/proc"
)

// patience bounds one request.
const patience = 30 * time.Second

// open connects to a service in one of the ways.
func open(name string, s *proc.Server) (way, error) {
	switch name {
	case "items":
		return &overHTTP{addr: s.Addr, path: "/items", body: article, idle: make(chan *client, atMost)}, nil
	case "filter":
		return &overHTTP{addr: s.Addr, path: "/filter", body: prepared(candidates, 64), idle: make(chan *client, atMost)}, nil
	case "exposures":
		return &overHTTP{addr: s.Addr, path: "/exposures", body: report, idle: make(chan *client, atMost)}, nil
	case "healthz":
		return &overHTTP{addr: s.Addr, path: "/healthz", body: nothing, idle: make(chan *client, atMost)}, nil
	case "nats":
		conn, err := bus.Connect(s.Holder.NATS, nats.Token(s.Holder.Token))
		if err != nil {
			return nil, err
		}
		return &overNATS{conn}, nil
	case "together":
		var all together
		for _, name := range []string{"items", "nats", "filter"} {
			w, err := open(name, s)
			if err != nil {
				return nil, err
			}
			all = append(all, w)
		}
		return all, nil
	}
	return nil, fmt.Errorf("overload: way %q: want items, nats, filter, exposures, healthz or together", name)
}

// together goes each of its ways in turn.
type together []way

func (t together) send(n int) outcome { return t[n%len(t)].send(n) }

func (t together) close() {
	for _, w := range t {
		w.close()
	}
}

// article is an item whose text no other number has.
func article(n int) []byte {
	rng := rand.New(rand.NewPCG(uint64(n), 18))
	var text strings.Builder
	for range 40 {
		for range 12 {
			text.WriteRune(rune(0x4e00 + rng.IntN(5000)))
		}
		text.WriteString("，")
	}
	return fmt.Appendf(nil, `{"id":"overload-%d","title":"%d","body":"%s"}`, n, n, text.String())
}

// candidates is a request about 10,000 items, for a user.
func candidates(n int) []byte {
	b := fmt.Appendf(nil, `{"user":"user-%d","items":["i0"`, n)
	for i := 1; i < 10_000; i++ {
		b = fmt.Appendf(b, `,"news-%d"`, n+i*7919)
	}
	return append(b, "]}"...)
}

// report is what one of a thousand users was shown.
func report(n int) []byte {
	return fmt.Appendf(nil, `{"user":"user-%d","kind":"seen","items":["a%d","b%d","c%d"]}`, n%1000, n, n, n)
}

func nothing(int) []byte { return nil }

// prepared makes a few bodies ahead of time.
func prepared(make func(n int) []byte, count int) func(n int) []byte {
	var list [][]byte
	for n := range count {
		list = append(list, make(n))
	}
	return func(n int) []byte { return list[n%count] }
}

// overHTTP posts on as many connections as requests are in flight.
type overHTTP struct {
	addr, path string
	body       func(n int) []byte
	idle       chan *client
}

type client struct {
	conn net.Conn
	from *bufio.Reader
}

func (w *overHTTP) send(n int) outcome {
	body := w.body(n)
	var c *client
	select {
	case c = <-w.idle:
	default:
		conn, err := net.Dial("tcp", w.addr)
		if err != nil {
			return failed
		}
		c = &client{conn: conn, from: bufio.NewReader(conn)}
	}
	status, err := c.post(w.path, body)
	if err != nil {
		c.conn.Close()
		return failed
	}
	w.idle <- c
	switch status {
	case http.StatusOK, http.StatusAccepted, http.StatusNoContent:
		return accepted
	case http.StatusTooManyRequests:
		return refused
	}
	return failed
}

func (c *client) post(path string, body []byte) (int, error) {
	if err := c.conn.SetDeadline(time.Now().Add(patience)); err != nil {
		return 0, err
	}
	method := http.MethodPost
	if len(body) == 0 {
		method = http.MethodGet
	}
	request := net.Buffers{fmt.Appendf(nil, "%s %s HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n", method, path, len(body)), body}
	if _, err := request.WriteTo(c.conn); err != nil {
		return 0, err
	}
	res, err := http.ReadResponse(c.from, nil)
	if err != nil {
		return 0, err
	}
	_, err = io.Copy(io.Discard, res.Body)
	if res.Close {
		err = errors.Join(err, errors.New("the service closes the connection"))
	}
	return res.StatusCode, err
}

func (w *overHTTP) close() {
	for {
		select {
		case c := <-w.idle:
			c.conn.Close()
		default:
			return
		}
	}
}

// overNATS publishes and waits for the stream's acknowledgement.
type overNATS struct{ conn *nats.Conn }

func (w *overNATS) send(n int) outcome {
	reply, err := w.conn.Request(bus.SubjectPublish, article(n), patience)
	switch {
	case err != nil:
		return failed
	case strings.Contains(string(reply.Data), `"error"`):
		return refused
	}
	return accepted
}

func (w *overNATS) close() { w.conn.Close() }
