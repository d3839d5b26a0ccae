// Command jianguo-bench measures the index, ingest and POST /filter of jianguo on this machine.
//
// Results are JSON. Figures are of one machine at one time: compare within a run, or two versions in turns.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"syscall"
	"time"

	"github.com/alecthomas/kong"

	"jianguo/internal/must"
)

// cli is the command line; every flag can also be set as JIANGUO_<FLAG>.
type cli struct {
	Index  indexCmd  `cmd:"" help:"Build an index of N items and measure it."`
	Ingest ingestCmd `cmd:"" help:"Measure ingest over its bus: rate, and publish to verdict at half of it."`
	Filter filterCmd `cmd:"" help:"Measure POST /filter on a server of its own, and Redis beside it."`
}

// streams are what a command reads from and writes to.
type streams struct {
	ctx context.Context
	in  io.Reader
	out io.Writer
	dir string // temporary
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	var c cli
	k := kong.Parse(&c, kong.Name("jianguo-bench"), kong.Description("Measures jianguo on this machine."),
		kong.DefaultEnvars("JIANGUO"), kong.ConfigureHelp(kong.HelpOptions{Compact: true}), kong.UsageOnError())
	dir, err := os.MkdirTemp("", "jianguo-bench-")
	if err == nil {
		err = k.Run(&streams{ctx: ctx, in: os.Stdin, out: os.Stdout, dir: dir})
	}
	k.FatalIfErrorf(errors.Join(err, os.RemoveAll(dir)))
}

// figures are the result of a run, by name.
type figures map[string]any

// latency adds the quantiles of samples under a name.
func (f figures) latency(of, unit string, s samples) {
	s = s.sorted()
	f[of+"_p50_"+unit], f[of+"_p99_"+unit] = s.at(.5), s.at(.99)
}

// print prints a result as JSON. It panics on errors (must).
func (co *streams) print(result figures) {
	out := json.NewEncoder(co.out)
	out.SetIndent("", "  ")
	must.Do(out.Encode(result))
}

// serviceFlags say which service is measured.
type serviceFlags struct {
	Binary string `help:"The jianguo to measure; empty: the one beside this program." placeholder:"FILE"`
}

// jianguo returns the path of the service's binary. It panics on errors (must).
func (f *serviceFlags) jianguo() string {
	if f.Binary != "" {
		return f.Binary
	}
	return filepath.Join(filepath.Dir(must.Get(os.Executable())), "jianguo")
}

// samples are measured values, latencies in microseconds unless a name says otherwise.
type samples []float64

func (s samples) sorted() samples { return slices.Sorted(slices.Values(s)) }

// at returns a quantile of sorted samples, 0…1; 0 if there are none.
func (s samples) at(q float64) float64 {
	if len(s) == 0 {
		return 0
	}
	return s[min(int(q*float64(len(s))), len(s)-1)]
}

func (s samples) median() float64 { return s.sorted().at(0.5) }

func micros(d time.Duration) float64 { return float64(d.Nanoseconds()) / 1000 }
