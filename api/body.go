package api

import (
	"fmt"
	"io"
	"net/http"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/labstack/echo/v4"
)

// A body is read before its request takes a place among the working requests. What it
// holds in memory grows with the received bytes, and so does the time that it may take.
// So a slow client, or one that announces more than it sends, takes nothing from other
// clients. Callers that are not authenticated have a budget of their own.
const (
	bodyBudget   = 512 << 20       // bytes of all bodies being read or worked on
	publicBudget = 32 << 20        // of those of callers that are not authenticated
	publicBody   = 64 << 10        // bytes of one of these
	bodyGrace    = 5 * time.Second // for the first byte
	bodyRate     = 64 << 10        // bytes a second that a client must send from then on
	bodyWait     = 40 * time.Second
)

// sizes are the capacities of buffers that are kept for other requests. A body's buffer
// grows at most eightfold at a time.
var (
	sizes = [...]int{2 << 10, 16 << 10, 128 << 10, 256 << 10, 512 << 10, 1 << 20}
	pools [len(sizes)]sync.Pool
)

// takeBuffer returns an empty buffer of at least a capacity.
func takeBuffer(capacity int) []byte {
	i, _ := slices.BinarySearch(sizes[:], capacity)
	if i == len(sizes) {
		return make([]byte, 0, capacity)
	}
	if b, ok := pools[i].Get().(*[]byte); ok {
		return (*b)[:0]
	}
	return make([]byte, 0, sizes[i])
}

// returnBuffer keeps a buffer if it has one of the sizes.
func returnBuffer(b []byte) {
	if i, ok := slices.BinarySearch(sizes[:], cap(b)); ok {
		pools[i].Put(&b)
	}
}

// bodyReader reads the bodies of requests, within one budget.
type bodyReader struct {
	budget int64
	held   atomic.Int64 // bytes of the buffers of bodies
}

// body is a request's body as far as it has come. release is always to be called.
type body struct {
	from *bodyReader
	data []byte
}

func (b *body) release() {
	b.from.held.Add(-int64(cap(b.data)))
	returnBuffer(b.data)
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

// grow makes room for more, but not past what a client that tells the truth will send.
func (b *body) grow(announced int64) error {
	capacity := max(sizes[0], 8*cap(b.data))
	if rest := announced + 1; rest > int64(cap(b.data)) && rest < int64(capacity) {
		capacity = int(rest)
	}
	grown := takeBuffer(capacity)
	if b.from.held.Add(int64(cap(grown))) > b.from.budget {
		b.from.held.Add(-int64(cap(grown)))
		return NewProblem(http.StatusTooManyRequests, "",
			"too many large requests are being read: try again in a moment")
	}
	grown = append(grown, b.data...)
	b.from.held.Add(-int64(cap(b.data)))
	returnBuffer(b.data)
	b.data = grown
	return nil
}

func bodyTooLarge(limit int64) error {
	return NewProblem(http.StatusRequestEntityTooLarge, "payload",
		fmt.Sprintf("payload has more than %d bytes, which is the most that is taken", limit))
}

// readBody is a request's body, which has been read before.
func readBody(c echo.Context) ([]byte, error) { return io.ReadAll(c.Request().Body) }
