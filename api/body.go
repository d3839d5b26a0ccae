package api

import (
	"fmt"
	"io"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"github.com/labstack/echo/v4"
)

// A body is read before its request takes a place among the working requests. What it
// holds in memory grows with the received bytes, and so does the time that it may take.
// So a slow client, or one that announces more than it sends, takes nothing from other
// clients. Callers that are not authenticated may fill the first buffer only.
const (
	bodyBudget  = 512 << 20 // bytes of all bodies being read or worked on
	firstBuffer = 16 << 10
	nextBuffer  = 128 << 10 // of this size buffers are kept for other requests
	publicBody  = firstBuffer - 1
	bodyGrace   = 5 * time.Second // for the first byte
	bodyRate    = 64 << 10        // bytes a second that a client must send from then on
	bodyWait    = 40 * time.Second
)

var buffers = sync.Pool{New: func() any { return new([nextBuffer]byte) }}

// body is a request's body as far as it has come. release is always to be called.
type body struct {
	held *atomic.Int64 // bytes of the buffers of all bodies
	data []byte
}

func (b *body) release() {
	b.held.Add(-int64(cap(b.data)))
	if cap(b.data) == nextBuffer {
		buffers.Put((*[nextBuffer]byte)(b.data[:nextBuffer]))
	}
	b.data = nil
}

// read reads what comes, up to limit bytes, whatever Content-Length says.
func (b *body) read(c echo.Context, limit int64) error {
	req, rc := c.Request(), http.NewResponseController(c.Response())
	if req.ContentLength > limit {
		return bodyTooLarge(limit)
	}
	began, timed := time.Now(), -bodyRate
	for {
		if len(b.data) == cap(b.data) {
			if err := b.grow(req.ContentLength); err != nil {
				return err
			}
		}
		if len(b.data)-timed >= bodyRate {
			// Where a deadline cannot be set the server's own still holds.
			timed = len(b.data)
			_ = rc.SetReadDeadline(began.Add(min(bodyWait, bodyGrace+time.Duration(timed/bodyRate)*time.Second)))
		}
		n, err := req.Body.Read(b.data[len(b.data):cap(b.data)])
		b.data = b.data[:len(b.data)+n]
		switch {
		case int64(len(b.data)) > limit:
			return bodyTooLarge(limit)
		case err == io.EOF:
			// After an error the deadline stands: before it answers, the server reads
			// what is left of a body, and would wait for it.
			_ = rc.SetReadDeadline(time.Time{})
			return nil
		case err != nil:
			return NewProblem(http.StatusBadRequest, "payload",
				"the body ended before it was complete, or came too slowly: "+err.Error())
		}
	}
}

// discard receives what a refused client sends, which may read its answer only after that.
// Where it is too long the server reads the beginning, and closes the connection.
func discard(c echo.Context, limit int64) {
	r := c.Request()
	_ = http.NewResponseController(c.Response()).SetReadDeadline(time.Now().Add(time.Second))
	if r.ContentLength > 0 && r.ContentLength <= limit {
		_, _ = io.Copy(io.Discard, r.Body) // the client may have gone
	}
}

// grow makes room for more, but not much past what a client that tells the truth will send.
func (b *body) grow(announced int64) error {
	grown := body{held: b.held}
	capacity := max(firstBuffer, 8*cap(b.data))
	if rest := announced + 1; rest > int64(cap(b.data)) && rest < int64(capacity) {
		capacity = int(rest)
	}
	if capacity > firstBuffer && capacity <= nextBuffer {
		grown.data = buffers.Get().(*[nextBuffer]byte)[:0]
	} else {
		grown.data = make([]byte, 0, capacity)
	}
	if b.held.Add(int64(cap(grown.data))) > bodyBudget {
		grown.release()
		return NewProblem(http.StatusTooManyRequests, "",
			"too many large requests are being read: try again in a moment")
	}
	grown.data = append(grown.data, b.data...)
	b.release()
	b.data = grown.data
	return nil
}

func bodyTooLarge(limit int64) error {
	return NewProblem(http.StatusRequestEntityTooLarge, "payload",
		fmt.Sprintf("payload has more than %d bytes, which is the most that is taken", limit))
}

// readBody is a request's body, which has been read before.
func readBody(c echo.Context) ([]byte, error) { return io.ReadAll(c.Request().Body) }
