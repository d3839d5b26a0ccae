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

// gate bounds the requests that have a place at once; others are refused at once. With a
// patience the bound follows what requests take: it falls while they take longer on the
// average than the patience, or than three times what one takes that waits for no other,
// and else it rises. So a burst is taken, and in a flood those that are admitted do not
// wait for long.
type gate struct {
	least, most int
	patience    time.Duration // 0: the bound is most

	mu       sync.Mutex
	admitted int           // places that count; under mu
	bound    int           // under mu
	set      time.Time     // when the bound was set; under mu
	done     int           // since then; under mu
	took     time.Duration // all of these; under mu
	quickest time.Duration // of these; under mu
	alone    time.Duration // what a request takes that waits for no other; under mu
	turns    int           // places that work at once; under mu
	waiting  []*place      // places that do not; under mu
	pipe     *os.File      // calls them; nil: all work; set before the first request
	called   bool          // and has; under mu
}

// A bound holds for this long. By then what a request takes alone may have become longer.
const (
	boundHolds = 100 * time.Millisecond
	forgetting = 1.01
)

// fixed returns a gate with one bound.
func fixed(most int) *gate { return &gate{most: most, bound: most} }

// within returns a gate whose bound follows a patience.
func within(patience time.Duration, least, most int) *gate {
	return &gate{least: min(least, most), most: most, bound: most, patience: patience, quickest: math.MaxInt64}
}

// place is what an admitted request has of a gate. It has it before its body is read, so
// that what it takes includes the wait for a processor, and what is refused is not read.
// But while it waits for its client it does not count.
type place struct {
	gate    *gate         // nil: the request was refused
	began   time.Time     // without the time that it did not count; under gate.mu
	paused  time.Time     // zero: it counts; under gate.mu
	left    bool          // under gate.mu
	turn    chan struct{} // closed when it is its turn
	nowhere *byte         // what a refused request has read from here on is discarded
}

// enter admits a request, which is to leave its place.
func (g *gate) enter() (*place, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.admitted >= g.bound {
		return nil, NewProblem(http.StatusTooManyRequests, "", "more requests came at once than can be answered soon: try again in a moment")
	}
	g.admitted++
	return &place{gate: g, began: time.Now()}, nil
}

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
		for one, last := make([]byte, 1), false; !last; {
			_, err := calls.Read(one)
			last = err != nil
			g.next(last)
		}
	}()
	return pipe.Close, nil
}

// next lets requests work whose turn it is; all of them after the last call.
func (g *gate) next(last bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.called = false; last {
		g.turns = math.MaxInt
	}
	for len(g.waiting) > 0 && g.admitted-len(g.waiting) < g.turns {
		close(g.waiting[0].turn)
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
	if g.admitted > g.turns {
		p.turn = make(chan struct{})
		g.waiting = append(g.waiting, p)
		g.count(0)
	}
	g.mu.Unlock()
	if p.turn != nil {
		<-p.turn
	}
}

// count changes how many places count, and calls requests if it is their turn; under mu.
func (g *gate) count(by int) {
	if g.admitted += by; !g.called && len(g.waiting) > 0 && g.admitted-len(g.waiting) < g.turns {
		_, err := g.pipe.Write([]byte{0})
		g.called = err == nil
	}
}

// counts is called when a request begins to wait for its client, and when that has ended.
func (p *place) counts(again bool) {
	if p.gate == nil {
		return
	}
	p.gate.mu.Lock()
	defer p.gate.mu.Unlock()
	switch {
	case p.left:
	case again:
		p.gate.count(1)
		p.began, p.paused = p.began.Add(time.Since(p.paused)), time.Time{}
	default:
		p.gate.count(-1)
		p.paused = time.Now()
	}
}

func (p *place) leave() {
	g := p.gate
	g.mu.Lock()
	defer g.mu.Unlock()
	if p.left = true; p.paused.IsZero() {
		g.count(-1)
	}
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
