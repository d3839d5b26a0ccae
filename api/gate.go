package api

import (
	"cmp"
	"net/http"
	"runtime"
	"sync"
	"time"

	"github.com/labstack/echo/v4"

	"jianguo/api/tokens"
)

// gate bounds the requests that are worked on at once; others are refused at once.
type gate chan struct{}

// full reports whether a request would be refused now.
func (g gate) full() bool { return len(g) == cap(g) }

// enter admits a request, which is to leave.
func (g gate) enter() error {
	select {
	case g <- struct{}{}:
		// Those that have arrived with it are counted before it works: one that only computes
		// would let nobody in until it is done.
		runtime.Gosched()
		return nil
	default:
		return errTooMany
	}
}

func (g gate) leave() { <-g }

// errTooMany refuses a request.
var errTooMany = NewProblem(http.StatusTooManyRequests, "",
	"more requests came at once than can be answered soon: try again in a moment")

// shares keeps a publisher (a token, or an address) that sends much from delaying the others: one has at most
// aloneBytes of articles in work, or shareBytes while others publish too. The zero value is ready.
type shares struct {
	mu     sync.Mutex
	held   map[string]int // bytes in work, by publisher
	last   string         // who sent last
	shared time.Time      // when two publishers last sent in turns
}

const (
	aloneBytes = 4 << 20   // what the first article of another one may find before it
	shareBytes = 128 << 10 // those that cost most for their length take half a second of a processor
	shareTime  = 10 * time.Minute
)

// enter admits an article of so many bytes; leave is to be called at its end.
func (s *shares) enter(c echo.Context, bytes int) (leave func(), err error) {
	who := cmp.Or(callerName(c.Request().Context()), tokens.Address(c.Request().RemoteAddr).String())
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.last != who {
		if s.last != "" {
			s.shared = time.Now()
		}
		s.last = who
	}
	most, why := aloneBytes, "4 MiB of your articles are in work"
	if time.Since(s.shared) < shareTime {
		most, why = shareBytes, "others publish too, and 128 KiB of your articles are in work"
	}
	if s.held[who] > 0 && s.held[who]+bytes > most {
		return nil, NewProblem(http.StatusTooManyRequests, "", why+": send the next when there are answers")
	}
	if s.held == nil {
		s.held = map[string]int{}
	}
	s.held[who] += bytes
	return func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		if s.held[who] -= bytes; s.held[who] == 0 {
			delete(s.held, who)
		}
	}, nil
}
