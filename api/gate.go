package api

import (
	"net/http"
	"runtime"
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
