package api

import (
	"math"
	"net/http"
	"sync"
	"time"
)

// gate bounds the requests that are admitted at once; others are refused at once. With a
// patience the bound follows what requests take: it falls while they take longer on the
// average than the patience, or than three times what one takes that waits for no other,
// and else it rises. So a burst is taken, and in a flood those that are admitted do not
// wait for long.
type gate struct {
	least, most int
	patience    time.Duration // 0: the bound is most

	mu       sync.Mutex
	admitted int           // under mu
	bound    int           // under mu
	set      time.Time     // when the bound was set; under mu
	done     int           // since then; under mu
	took     time.Duration // all of these; under mu
	quickest time.Duration // of these; under mu
	alone    time.Duration // what a request takes that waits for no other; under mu
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

// enter admits a request and returns what is to be called when it is done.
func (g *gate) enter() (leave func(), err error) {
	if err := g.admit(); err != nil {
		return nil, err
	}
	began := time.Now()
	return func() { g.leave(began) }, nil
}

func (g *gate) admit() error {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.admitted >= g.bound {
		return g.refusal()
	}
	g.admitted++
	return nil
}

// full is the error of a request that would not be admitted.
func (g *gate) full() error {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.admitted >= g.bound {
		return g.refusal()
	}
	return nil
}

func (g *gate) refusal() error {
	return NewProblem(http.StatusTooManyRequests, "", "more requests came at once than can be answered soon: try again in a moment")
}

func (g *gate) leave(began time.Time) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.admitted--
	if g.patience == 0 {
		return
	}
	now := time.Now()
	took := now.Sub(began)
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
