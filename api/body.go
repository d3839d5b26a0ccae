package api

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"github.com/labstack/echo/v4"
)

// A body is read before its request takes a slot among the working requests. Its
// memory grows with the received bytes. So a slow client, or one that announces more
// than it sends, takes nothing from other clients.
const (
	bodyWait   = 10 * time.Second
	bodyBudget = 512 << 20 // bytes of all bodies being read or worked on
	firstRead  = 128 << 10
)

// buffers are for requests and answers. Those that a rare large request has
// grown are not kept.
var buffers = sync.Pool{New: func() any { b := make([]byte, 0, firstRead); return &b }}

const keepBody = 1 << 20

// bodyReader reads the bodies of requests, within one budget.
type bodyReader struct {
	held atomic.Int64 // bytes of bodies held
}

// read reads what comes, up to limit bytes, whatever Content-Length says. The
// body is the caller's until release, which is always to be called.
func (r *bodyReader) read(c echo.Context, limit int64) (body []byte, release func(), err error) {
	buf := buffers.Get().(*[]byte)
	held := int64(0)
	release = func() {
		r.held.Add(-held)
		if cap(*buf) <= keepBody {
			buffers.Put(buf)
		}
	}
	rc := http.NewResponseController(c.Response())
	// Where a deadline cannot be set the server's own still holds.
	_ = rc.SetReadDeadline(time.Now().Add(bodyWait))
	if err = r.fill(c.Request(), buf, &held, limit); err == nil {
		// Else it stands: before it answers, the server reads what is left of a
		// body, and would wait for it.
		_ = rc.SetReadDeadline(time.Time{})
	}
	return *buf, release, err
}

func (r *bodyReader) fill(req *http.Request, buf *[]byte, held *int64, limit int64) error {
	if req.ContentLength > limit {
		return bodyTooLarge(limit)
	}
	b := (*buf)[:0]
	for {
		if int64(cap(b)) > *held {
			if r.held.Add(int64(cap(b))-*held) > bodyBudget {
				*held = int64(cap(b))
				return NewProblem(http.StatusServiceUnavailable, "", "too many large requests are being read: try again in a moment")
			}
			*held = int64(cap(b))
		}
		n, err := req.Body.Read(b[len(b):cap(b)])
		b = b[:len(b)+n]
		*buf = b
		switch {
		case int64(len(b)) > limit:
			return bodyTooLarge(limit)
		case err == io.EOF:
			return nil
		case err != nil:
			return NewProblem(http.StatusBadRequest, "payload", "the body ended before it was complete, or came too slowly: "+err.Error())
		case len(b) == cap(b):
			// Double, but not past what a client that tells the truth will send.
			grow := len(b)
			if rest := req.ContentLength - int64(len(b)) + 1; rest > 0 && rest < int64(grow) {
				grow = int(rest)
			}
			b = append(make([]byte, 0, len(b)+grow), b...)
			*buf = b
		}
	}
}

func bodyTooLarge(limit int64) error {
	return NewProblem(http.StatusRequestEntityTooLarge, "payload", fmt.Sprintf("payload has more than %d bytes, which is the most that is taken", limit))
}

// bound reads a request's body, and takes a place for the time of its work.
func (s *Server) bound(g gate, next echo.HandlerFunc) echo.HandlerFunc {
	return func(c echo.Context) error {
		if r := c.Request(); r.Body != nil && r.Body != http.NoBody {
			body, release, err := s.bodies.read(c, MaxBody)
			defer release()
			if err != nil {
				return err
			}
			r.Body = io.NopCloser(bytes.NewReader(body))
		}
		if err := g.enter(); err != nil {
			return err
		}
		defer g.leave()
		return next(c)
	}
}

// readBody is a request's body, which bound has read.
func readBody(c echo.Context) ([]byte, error) { return io.ReadAll(c.Request().Body) }
