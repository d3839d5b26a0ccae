package api

import (
	"fmt"
	"math"
	"net/http"
	"os"
	"runtime"
	"sync"
	"time"
)

// gate bounds the requests that are worked on at once; others are refused at once. With a
// patience the bound follows what requests take: it falls while they take longer on the
// average than the patience, or than three times what one takes that waits for no other,
// and else it rises. So a burst is taken, and in a flood those that are admitted do not
// wait for long.
type gate struct {
	least, most int
	patience    time.Duration // 0: the bound is most

	mu       sync.Mutex
	admitted int           // under mu, as all that follows
	bound    int           // of admitted
	set      time.Time     // when the bound was set
	done     int           // requests since then
	took     time.Duration // all of these
	quickest time.Duration // of these
	alone    time.Duration // what a request takes that waits for no other

	turns   int             // requests that may work at once
	waiting []chan struct{} // of those that wait for their turn; closed when it comes
	pipe    *os.File        // calls them; nil: all work; set before the first request
	called  bool            // something is in the pipe
}

// A bound holds for this long. By then what a request takes alone may have become longer.
const (
	boundHolds = 100 * time.Millisecond
	forgetting = 1.01
)

// newGate returns a gate with one bound.
func newGate(most int) *gate { return &gate{most: most, bound: most} }

// newAdaptiveGate returns a gate whose bound follows a patience.
func newAdaptiveGate(patience time.Duration, least, most int) *gate {
	return &gate{least: min(least, most), most: most, bound: most, patience: patience, quickest: math.MaxInt64}
}

// place is what an admitted request has of a gate.
type place struct {
	gate  *gate
	began time.Time
}

// full reports whether a request would be refused now.
func (g *gate) full() bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.admitted >= g.bound
}

// enter admits a request, which is to leave its place.
func (g *gate) enter() (*place, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.admitted >= g.bound {
		return nil, errTooMany
	}
	g.admitted++
	return &place{gate: g, began: time.Now()}, nil
}

// errTooMany refuses a request.
var errTooMany = NewProblem(http.StatusTooManyRequests, "",
	"more requests came at once than can be answered soon: try again in a moment")

// takeTurns lets a few requests work at once until stop; others wait, in the order in which
// they came. Go looks for what has arrived only when nothing is left to run, and requests
// that only compute leave something to run all the time: in a flood those that arrive would
// wait unseen. So those that wait are called through a pipe, behind what has arrived.
func (g *gate) takeTurns(turns int) (stop func() error, err error) {
	calls, pipe, err := os.Pipe()
	if err != nil {
		return nil, fmt.Errorf("api: turns: %w", err)
	}
	g.turns, g.pipe = turns, pipe
	go func() {
		defer calls.Close()
		for call, ended := make([]byte, 1), false; !ended; {
			_, err := calls.Read(call)
			ended = err != nil
			g.letWork(ended)
		}
	}()
	return pipe.Close, nil
}

// letWork lets requests work whose turn it is; all of them after the last call.
func (g *gate) letWork(ended bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.called = false; ended {
		g.turns = math.MaxInt
	}
	for len(g.waiting) > 0 && g.admitted-len(g.waiting) < g.turns {
		close(g.waiting[0])
		g.waiting = g.waiting[1:]
	}
}

// wait returns when it is the turn of a request.
func (p *place) wait() {
	g := p.gate
	if g.pipe == nil {
		return
	}
	runtime.Gosched() // those that have arrived with it are counted first
	g.mu.Lock()
	if g.admitted <= g.turns {
		g.mu.Unlock()
		return
	}
	turn := make(chan struct{})
	g.waiting = append(g.waiting, turn)
	g.call()
	g.mu.Unlock()
	<-turn
}

// call wakes the caller of turns if it is the turn of a request that waits; under mu.
func (g *gate) call() {
	if !g.called && len(g.waiting) > 0 && g.admitted-len(g.waiting) < g.turns {
		_, err := g.pipe.Write([]byte{0})
		g.called = err == nil
	}
}

func (p *place) leave() {
	g := p.gate
	g.mu.Lock()
	defer g.mu.Unlock()
	g.admitted--
	g.call()
	if g.patience == 0 {
		return
	}
	now := time.Now()
	took := now.Sub(p.began)
	g.done, g.took, g.quickest = g.done+1, g.took+took, min(g.quickest, took)
	if now.Sub(g.set) < boundHolds {
		return
	}
	if g.alone = time.Duration(float64(g.alone) * forgetting); g.alone == 0 || g.quickest < g.alone {
		g.alone = g.quickest
	}
	if g.took/time.Duration(g.done) > max(g.patience, 3*g.alone) {
		g.bound = max(g.least, g.bound*3/4)
	} else {
		g.bound = min(g.most, g.bound*5/4+1)
	}
	g.set, g.done, g.took, g.quickest = now, 0, 0, math.MaxInt64
}
