package api

import (
	"bytes"
	"cmp"
	"fmt"
	"io"
	"net/http"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/labstack/echo/v4"

	"jianguo/api/tokens"
)

// limiter bounds the requests that are worked on at once; further ones are refused.
type limiter chan struct{}

func (l limiter) full() bool { return len(l) == cap(l) }

// enter admits a request, which is to leave.
func (l limiter) enter() error {
	select {
	case l <- struct{}{}:
		// Requests that have arrived with it are counted before it works: one that only computes
		// would keep them from being counted until it is done.
		runtime.Gosched()
		return nil
	default:
		return errTooMany
	}
}

func (l limiter) leave() { <-l }

var errTooMany = NewProblem(http.StatusTooManyRequests, "",
	"more requests came at once than can be answered soon: try again in a moment")

// publishers keeps one publisher (a token, or an address) that sends much from delaying the others: each has at most
// aloneBytes of articles in work, or shareBytes while others publish too. The zero value is ready.
type publishers struct {
	mu     sync.Mutex
	inWork map[string]int // bytes, by publisher
	last   string         // the publisher of the last article
	shared time.Time      // when two publishers last sent in turns
}

const (
	aloneBytes = 4 << 20   // what the first article of another publisher may find before it
	shareBytes = 128 << 10 // those that cost most for their length take half a second of a processor
	shareTime  = 10 * time.Minute
)

// enter admits an article of so many bytes; leave is to be called at its end.
func (s *publishers) enter(c echo.Context, bytes int) (leave func(), err error) {
	publisher := cmp.Or(callerName(c.Request().Context()), tokens.Address(c.Request().RemoteAddr).String())
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.last != publisher {
		if s.last != "" {
			s.shared = time.Now()
		}
		s.last = publisher
	}
	most, why := aloneBytes, "4 MiB of your articles are in work"
	if time.Since(s.shared) < shareTime {
		most, why = shareBytes, "others publish too, and 128 KiB of your articles are in work"
	}
	if s.inWork[publisher] > 0 && s.inWork[publisher]+bytes > most {
		return nil, NewProblem(http.StatusTooManyRequests, "", why+": send the next when there are answers")
	}
	if s.inWork == nil {
		s.inWork = map[string]int{}
	}
	s.inWork[publisher] += bytes
	return func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		if s.inWork[publisher] -= bytes; s.inWork[publisher] == 0 {
			delete(s.inWork, publisher)
		}
	}, nil
}

// A body is read before its request takes a place among the working requests. What it
// holds in memory grows with the received bytes, and so does the time that it may take.
// So a slow client, or one that announces more than it sends, takes nothing from other
// clients. Callers that are not authenticated may send publicBody bytes only.
const (
	bodyBudget = 512 << 20 // bytes of all bodies being read or worked on
	publicBody = 16<<10 - 1
	keptBuffer = 256 << 10       // larger buffers are not kept for other requests
	bodyGrace  = 5 * time.Second // for the first byte
	bodyRate   = 64 << 10        // bytes a second that a client must send from then on
	bodyWait   = 40 * time.Second
)

var buffers = sync.Pool{New: func() any { return new(bytes.Buffer) }}

// body is a request's body as far as it has come. release is always to be called.
type body struct {
	*bytes.Buffer
	all      *atomic.Int64 // bytes that all bodies hold, at most bodyBudget
	reserved int64         // of these, for this body; a buffer that grows may take twice that
}

func (b *body) release() {
	b.all.Add(-b.reserved)
	if b.Cap() <= keptBuffer {
		b.Reset()
		buffers.Put(b.Buffer)
	}
}

// read reads what comes, up to limit bytes, whatever Content-Length says.
func (b *body) read(c echo.Context, limit int64) error {
	req, rc := c.Request(), http.NewResponseController(c.Response())
	if e := req.Header.Get(echo.HeaderContentEncoding); e != "" && !strings.EqualFold(e, "identity") {
		return NewProblem(http.StatusUnsupportedMediaType, echo.HeaderContentEncoding,
			fmt.Sprintf("Content-Encoding is %.40q: a body is taken as it is, without one", e))
	}
	if req.ContentLength > limit {
		return bodyTooLarge(limit)
	}
	for began := time.Now(); ; {
		step := min(bodyRate, limit+1-b.reserved)
		if b.reserved += step; b.all.Add(step) > bodyBudget {
			return NewProblem(http.StatusTooManyRequests, "",
				"too many large requests are being read: try again in a moment")
		}
		// Where a deadline cannot be set the server's own still holds.
		_ = rc.SetReadDeadline(began.Add(min(bodyWait, bodyGrace+time.Duration(b.Len()/bodyRate)*time.Second)))
		_, err := io.CopyN(b, req.Body, step)
		switch {
		case int64(b.Len()) > limit:
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

func bodyTooLarge(limit int64) error {
	return NewProblem(http.StatusRequestEntityTooLarge, "payload",
		fmt.Sprintf("payload has more than %d bytes, which is the most that is taken", limit))
}

// bodyKey is where a request that bound has read keeps its body.
const bodyKey = "body"

// readBody is the body of a request that bound has read.
func readBody(c echo.Context) []byte { return c.Get(bodyKey).([]byte) }
