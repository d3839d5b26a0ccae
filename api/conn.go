package api

import (
	"context"
	"net"
)

// wholeListener accepts connections that can write a long answer in one piece.
type wholeListener struct{ net.Listener }

func (l wholeListener) Accept() (net.Conn, error) {
	c, err := l.Listener.Accept()
	if tcp, ok := c.(*net.TCPConn); ok && err == nil {
		return &wholeConn{TCPConn: tcp}, nil
	}
	return c, err
}

// serverBuffer is the size of net/http's buffer before a connection.
const serverBuffer = 4096

// wholeConn joins two writes. net/http sends an answer that is longer than its buffer
// as what fits in there after the headers, and the rest: two system calls, and the
// client is woken twice.
type wholeConn struct {
	*net.TCPConn
	join bool   // the next write is the first of two; owned by the request being answered
	held []byte // that one
}

type wholeConnKey struct{}

func withConn(ctx context.Context, c net.Conn) context.Context {
	if w, ok := c.(*wholeConn); ok {
		return context.WithValue(ctx, wholeConnKey{}, w)
	}
	return ctx
}

// joinWrites says that the answer about to be written has a body of n bytes. Where
// that is longer than the server's buffer, another write is sure to follow the first.
func joinWrites(ctx context.Context, n int) {
	if w, ok := ctx.Value(wholeConnKey{}).(*wholeConn); ok && n > serverBuffer {
		w.join = true
	}
}

func (w *wholeConn) Write(p []byte) (int, error) {
	if w.join {
		w.join = false
		if len(p) == serverBuffer {
			w.held = append(w.held[:0], p...)
			return len(p), nil
		}
	}
	if len(w.held) == 0 {
		return w.TCPConn.Write(p)
	}
	both := net.Buffers{w.held, p}
	before := len(w.held)
	w.held = w.held[:0]
	n, err := both.WriteTo(w.TCPConn)
	return max(int(n)-before, 0), err
}
