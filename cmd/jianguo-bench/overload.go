package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"text/tabwriter"
	"time"

	"jianguo/cmd/jianguo-bench/overloadbench"
	"jianguo/internal/svg"
)

type overloadCmd struct {
	Way   string        `help:"What is offered: items (POST /items), nats (items.publish), filter (POST /filter of 10,000 ids), exposures (POST /exposures) healthz (GET /healthz, the control: a handler that does nothing) or together (items, nats and filter in turn)." enum:"items,nats,filter,exposures,healthz,together" default:"items"`
	Loads []float64     `help:"Loads, as shares of what is possible; the first is offered again at the end." default:"0.3,0.6,1,1.5,2,3"`
	Each  time.Duration `help:"How long each load is offered." default:"6s"`
	Dir   string        `help:"Data directory of the service; empty: a temporary one." placeholder:"DIR"`
	JSON  bool          `help:"Print one line of JSON."`
	Plot  string        `help:"Draw what became of the loads to this file, .svg." placeholder:"FILE"`
	serviceFlags
}

// Run starts a service and overloads it.
func (c *overloadCmd) Run(co *streams) (err error) {
	jianguo, err := c.jianguo()
	if err != nil {
		return err
	}
	dir, remove, err := orTemporary(c.Dir)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, remove()) }()
	res, err := overloadbench.Run(co.ctx, overloadbench.Options{Jianguo: jianguo, Dir: dir, Way: c.Way, Each: c.Each, Loads: c.Loads, Log: co.err})
	if err != nil {
		return err
	}
	if c.Plot != "" {
		if err := plotOverload(c.Plot, res); err != nil {
			return err
		}
	}
	if c.JSON {
		return json.NewEncoder(co.out).Encode(res)
	}
	w := tabwriter.NewWriter(co.out, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(w, "load\toffered/s\taccepted/s\trefused/s\tfailed/s\tp50 ms\tp99 ms\trefused p99 ms\tmemory MiB\t")
	for _, s := range res.Steps {
		fmt.Fprintf(w, "%.1f\t%.0f\t%.0f\t%.0f\t%.0f\t%.1f\t%.1f\t%.1f\t%.0f\t\n", s.Load, s.Offered, s.Accepted, s.Refused, s.Failed, s.P50, s.P99, s.Refusal, s.Memory)
	}
	return w.Flush()
}

// plotOverload draws what was accepted and refused, and below it latencies and memory,
// against what was offered.
func plotOverload(file string, res *overloadbench.Result) error {
	taken, not := svg.Series{Name: "accepted", Colour: svg.Green}, svg.Series{Name: "refused or failed", Colour: svg.Orange}
	p50, p99, memory := svg.Series{Name: "p50", Colour: svg.Blue}, svg.Series{Name: "p99", Colour: svg.Purple}, svg.Series{Colour: svg.Black}
	for _, s := range res.Steps[:len(res.Steps)-1] {
		taken.Points = append(taken.Points, svg.Point{X: s.Offered, Y: s.Accepted})
		not.Points = append(not.Points, svg.Point{X: s.Offered, Y: s.Refused + s.Failed})
		p50.Points = append(p50.Points, svg.Point{X: s.Offered, Y: s.P50})
		p99.Points = append(p99.Points, svg.Point{X: s.Offered, Y: s.P99})
		memory.Points = append(memory.Points, svg.Point{X: s.Offered, Y: s.Memory})
	}
	const offered = "requests offered a second"
	return plot(file, svg.Chart{Title: "Overload: " + res.Way, X: offered, Y: "requests a second", Series: []svg.Series{taken, not}},
		svg.Chart{Title: "Accepted requests", X: offered, Y: "milliseconds from when they were due", Series: []svg.Series{p50, p99}},
		svg.Chart{Title: "Memory", X: offered, Y: "MiB resident", Series: []svg.Series{memory}})
}
