package api

import (
	"context"
	"crypto/tls"
	"io"
	"net"
	"sync/atomic"
	"syscall"

	"golang.org/x/sys/unix"
)

// listener accepts connections as conn.
type listener struct{ net.Listener }

func (l listener) Accept() (net.Conn, error) {
	accepted, err := l.Listener.Accept()
	t, ok := accepted.(*net.TCPConn)
	if !ok {
		return accepted, err
	}
	raw, err := t.SyscallConn()
	return &conn{TCPConn: t, raw: raw}, err
}

// conn is a connection that tells a request's place whether the request waits for its
// client while its body is read. What a refused request sends is not even copied: refusing
// one of 150 KB takes 26 µs instead of 43.
type conn struct {
	*net.TCPConn
	raw  syscall.RawConn
	body atomic.Pointer[place] // of the request whose body is read; nil: none
}

// readingFor calls read, which reads the body of a request with this context.
func readingFor(ctx context.Context, p *place, read func() error) error {
	c := ctx.Value(connectionKey{})
	if t, ok := c.(*tls.Conn); ok {
		c = t.NetConn()
	}
	if c, ok := c.(*conn); ok {
		c.body.Store(p)
		defer c.body.Store(nil)
	}
	return read()
}

// Read implements net.Conn. After a body, net/http reads one byte ahead to notice a
// client that goes away; no request waits for that.
func (c *conn) Read(b []byte) (n int, err error) {
	p := c.body.Load()
	if p == nil || len(b) < 2 {
		return c.TCPConn.Read(b)
	}
	flags, waits := 0, false
	if p.nowhere == &b[0] {
		flags = unix.MSG_TRUNC
	}
	failed := c.raw.Read(func(fd uintptr) bool {
		if n, _, err = unix.Recvfrom(int(fd), b, flags); err == unix.EAGAIN && !waits {
			waits = true
			p.counts(false)
		}
		return err != unix.EAGAIN
	})
	if waits {
		p.counts(true)
	}
	switch {
	case failed != nil:
		return 0, failed
	case err != nil:
		return 0, &net.OpError{Op: "read", Net: "tcp", Source: c.LocalAddr(), Addr: c.RemoteAddr(), Err: err}
	case n == 0:
		return 0, io.EOF
	}
	return n, nil
}
