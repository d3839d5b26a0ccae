package api

import (
	"cmp"
	"container/list"
	"context"
	"crypto/tls"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"sync"

	"github.com/prometheus/client_golang/prometheus"
	"golang.org/x/sys/unix"

	"jianguo/api/tokens"
)

// MaxConnections returns how many connections HTTP and the bus may each have: half of the files that the process may
// open, without those that storage needs. wanted bounds the result; 0: 4,096.
func MaxConnections(wanted int) (connections int, err error) {
	const storage, usual, least = 1024, 4096, 16
	var limit unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_NOFILE, &limit); err != nil {
		return 0, fmt.Errorf("api: limit of open files: %w", err)
	}
	open := int(min(limit.Cur, 1<<30))
	if connections = min(cmp.Or(wanted, usual), (open-min(storage, open/4))/2); connections < least {
		return 0, fmt.Errorf("api: the limit of open files is %d: raise it to %d at least (LimitNOFILE, ulimit -n)",
			open, storage+2*usual)
	}
	return connections, nil
}

// connections bounds the connections of an HTTP server, in all, and at half of that by address. For a new one beyond
// the bound it closes the oldest on which no request was accepted so far, or else the one that has been idle for
// longest, or else the new one.
type connections struct {
	most   int
	closed *prometheus.CounterVec

	mu       sync.Mutex
	all      map[net.Conn]*connection // under mu
	from     map[netip.Addr]int       // open connections of an address; under mu
	unproven list.List                // of *connection, the oldest first; under mu
	idle     list.List                // of *connection, the longest idle first; under mu
}

type connection struct {
	conn net.Conn
	from netip.Addr
	in   *list.List    // unproven or idle; nil: an accepted request is being answered
	at   *list.Element // of in
}

func newConnections(most int, closed *prometheus.CounterVec) *connections {
	return &connections{most: most, closed: closed, all: map[net.Conn]*connection{}, from: map[netip.Addr]int{}}
}

// connectionKey is where a request's context keeps its connection.
type connectionKey struct{}

// prove notes that a request was accepted: its caller may use the service, and has sent
// the whole body.
func (cs *connections) prove(ctx context.Context) {
	conn, _ := ctx.Value(connectionKey{}).(net.Conn)
	cs.mu.Lock()
	defer cs.mu.Unlock()
	if c := cs.all[conn]; c != nil {
		c.move(nil)
	}
}

// state has the type of http.Server.ConnState.
func (cs *connections) state(conn net.Conn, state http.ConnState) {
	cs.mu.Lock()
	defer cs.mu.Unlock()
	c := cs.all[conn]
	switch {
	case state == http.StateNew:
		cs.add(&connection{conn: conn, from: tokens.Address(conn.RemoteAddr().String())})
	case c == nil:
	case state == http.StateIdle && c.in == nil:
		c.move(&cs.idle)
	case state == http.StateActive && c.in == &cs.idle:
		c.move(nil)
	case state == http.StateClosed:
		cs.remove(c)
	}
}

func (cs *connections) add(c *connection) {
	share := (cs.most + 1) / 2
	for len(cs.all) >= cs.most || cs.from[c.from] >= share {
		old := cs.expendable(c.from, cs.from[c.from] >= share)
		if old == nil {
			cs.closed.WithLabelValues("new").Inc()
			closeAbruptly(c.conn)
			return
		}
		cs.closed.WithLabelValues("old").Inc()
		closeAbruptly(old.conn)
		cs.remove(old)
	}
	cs.all[c.conn] = c
	cs.from[c.from]++
	c.move(&cs.unproven)
}

// expendable is the connection to close, with only one of the address; nil: there is none.
func (cs *connections) expendable(from netip.Addr, only bool) *connection {
	for _, l := range []*list.List{&cs.unproven, &cs.idle} {
		for e := l.Front(); e != nil; e = e.Next() {
			if c := e.Value.(*connection); !only || c.from == from {
				return c
			}
		}
	}
	return nil
}

func (cs *connections) remove(c *connection) {
	delete(cs.all, c.conn)
	c.move(nil)
	if cs.from[c.from]--; cs.from[c.from] == 0 {
		delete(cs.from, c.from)
	}
}

func (c *connection) move(to *list.List) {
	if c.in != nil {
		c.in.Remove(c.at)
	}
	if c.in = to; to != nil {
		c.at = to.PushBack(c)
	}
}

// closeAbruptly closes a connection without a last record of TLS, which could block.
func closeAbruptly(conn net.Conn) {
	if t, ok := conn.(*tls.Conn); ok {
		conn = t.NetConn()
	}
	_ = conn.Close() // its goroutine notices
}
