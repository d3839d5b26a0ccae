// Package overloadbench offers a service more than it can do: requests are due at a fixed
// rate whatever becomes of those before, as those of many independent clients are.
package overloadbench

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"jianguo/cmd/jianguo-bench/proc"
)

// Options say what to measure.
type Options struct {
	Jianguo string        // the binary
	Dir     string        // for its data
	Way     string        // items, nats, filter or exposures
	Each    time.Duration // of a step
	Loads   []float64     // offered, as shares of what is possible
	Log     io.Writer
}

// Step is what became of one load.
type Step struct {
	Load     float64 `json:"load"`     // share of what is possible
	Offered  float64 `json:"offered"`  // requests a second
	Accepted float64 `json:"accepted"` // and of these
	Refused  float64 `json:"refused"`  // 429, or the bus's error
	Failed   float64 `json:"failed"`   // no answer, another answer, or not sent: too many were in flight
	P50      float64 `json:"p50_ms"`   // of accepted ones, from when they were due
	P99      float64 `json:"p99_ms"`
	Refusal  float64 `json:"refused_p99_ms"`
	Memory   float64 `json:"memory_mib"` // the most that was resident
}

// Result is a run. The last step is at the first load again.
type Result struct {
	Way      string  `json:"way"`
	Possible float64 `json:"possible"` // accepted a second, closed loop
	Steps    []Step  `json:"steps"`
}

// outcome is what became of one request.
type outcome int

const (
	accepted outcome = iota
	refused
	failed
)

// way sends request number n and waits for its answer.
type way interface {
	send(n int) outcome
	close()
}

const (
	inFlight = 32   // of the closed loop
	atMost   = 1500 // of the open loop; fewer than the service takes from one address
)

// Run starts a service, finds what is possible, and offers each load.
func Run(ctx context.Context, o Options) (_ *Result, err error) {
	cpu, rest := proc.CPUs()
	if len(rest) == 0 || proc.PinSelf(rest) != nil {
		cpu = -1
	}
	s, err := proc.StartServer(ctx, exec.CommandContext(ctx, o.Jianguo, "serve", "--data", o.Dir, "--listen", "127.0.0.1:0", "--nats-listen", "127.0.0.1:0"), o.Dir, cpu)
	if err != nil {
		return nil, err
	}
	defer func() {
		if said := s.Stop(); err != nil {
			err = fmt.Errorf("%w\n%s", err, said)
		}
	}()
	w, err := open(o.Way, s)
	if err != nil {
		return nil, err
	}
	defer w.close()
	b := &bench{Options: o, way: w, server: s}
	res := &Result{Way: o.Way}
	if res.Possible = b.possible(ctx); res.Possible == 0 {
		return nil, errors.New("overload: nothing was accepted")
	}
	fmt.Fprintf(o.Log, "  possible: %.0f requests a second\n", res.Possible)
	for _, load := range append(o.Loads, o.Loads[0]) {
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		step, err := b.step(ctx, load, load*res.Possible)
		if err != nil {
			return nil, err
		}
		fmt.Fprintf(o.Log, "  %+v\n", step)
		res.Steps = append(res.Steps, step)
	}
	return res, nil
}

type bench struct {
	Options
	way    way
	server *proc.Server
	number atomic.Int64 // of the next request
}

// possible is how many requests a second a closed loop gets accepted.
func (b *bench) possible(ctx context.Context) float64 {
	var done atomic.Int64
	round := func(d time.Duration) float64 {
		done.Store(0)
		began := time.Now()
		var wg sync.WaitGroup
		for range inFlight {
			wg.Go(func() {
				for time.Since(began) < d && ctx.Err() == nil {
					if b.way.send(int(b.number.Add(1))) == accepted {
						done.Add(1)
					}
				}
			})
		}
		wg.Wait()
		return float64(done.Load()) / time.Since(began).Seconds()
	}
	round(b.Each / 3) // warms caches and connections up
	return round(b.Each)
}

// step offers requests at a rate.
func (b *bench) step(ctx context.Context, load, rate float64) (Step, error) {
	var (
		mu    sync.Mutex
		took  [failed + 1][]time.Duration // by outcome; under mu
		wg    sync.WaitGroup
		slots = make(chan struct{}, atMost)
	)
	memory := make(chan float64)
	watching, enough := context.WithCancel(ctx)
	go func() { memory <- b.server.PeakMemory(watching) }()
	began, n := time.Now(), int(rate*b.Each.Seconds())
	for i := range n {
		due := began.Add(time.Duration(float64(i) / rate * float64(time.Second)))
		if wait := time.Until(due); wait > 0 {
			time.Sleep(wait)
		}
		select {
		case slots <- struct{}{}:
		default:
			mu.Lock()
			took[failed] = append(took[failed], 0)
			mu.Unlock()
			continue
		}
		number := int(b.number.Add(1))
		wg.Go(func() {
			what := b.way.send(number)
			t := time.Since(due)
			<-slots
			mu.Lock()
			defer mu.Unlock()
			took[what] = append(took[what], t)
		})
	}
	lasted := time.Since(began).Seconds()
	wg.Wait()
	enough()
	s := Step{Load: load, Offered: float64(n) / lasted, Accepted: float64(len(took[accepted])) / lasted, Refused: float64(len(took[refused])) / lasted,
		Failed: float64(len(took[failed])) / lasted, P50: at(took[accepted], 0.5), P99: at(took[accepted], 0.99), Refusal: at(took[refused], 0.99), Memory: <-memory}
	return s, ctx.Err()
}

// at is a quantile in milliseconds; 0 of nothing.
func at(took []time.Duration, q float64) float64 {
	if len(took) == 0 {
		return 0
	}
	slices.Sort(took)
	return float64(took[min(len(took)-1, int(q*float64(len(took))))].Microseconds()) / 1000
}
