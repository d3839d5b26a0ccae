// Command jianguo-bench measures the index, ingest and POST /filter of jianguo, and
// overloads it, on this machine. `jianguo-bench --help` lists its commands.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"syscall"

	"github.com/alecthomas/kong"

	"jianguo/internal/progress"
)

// cli is the command line; every flag can also be set as JIANGUO_<FLAG>.
type cli struct {
	Index    indexCmd    `cmd:"" help:"Build an index of N items and measure it."`
	Ingest   ingestCmd   `cmd:"" help:"Measure ingest over its bus: articles a second, and publish to verdict at half of that."`
	Filter   filterCmd   `cmd:"" help:"Measure POST /filter on a server of its own, and Redis beside it."`
	Overload overloadCmd `cmd:"" help:"Offer a service more than it can do: what it accepts and refuses, latencies and memory."`
	Control  controlCmd  `cmd:"" hidden:"" help:"Serve the control of filter."`
}

// streams are what a command reads from and writes to.
type streams struct {
	ctx      context.Context
	in       io.Reader
	out      io.Writer
	err      io.Writer
	progress progress.Reporter
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	var c cli
	k := kong.Parse(&c, kong.Name("jianguo-bench"), kong.Description("Measures jianguo on this machine."), kong.DefaultEnvars("JIANGUO"),
		kong.ConfigureHelp(kong.HelpOptions{Compact: true}), kong.UsageOnError())
	k.FatalIfErrorf(k.Run(&streams{ctx: ctx, in: os.Stdin, out: os.Stdout, err: os.Stderr, progress: progress.To(os.Stderr)}))
}

// serviceFlags say which service is measured.
type serviceFlags struct {
	Binary string `help:"The jianguo binary to measure; empty: the one beside this program, or else in PATH." placeholder:"FILE"`
}

// jianguo returns the path of the service's binary.
func (f *serviceFlags) jianguo() (string, error) {
	if f.Binary != "" {
		return f.Binary, nil
	}
	self, err := os.Executable()
	if err != nil {
		return "", err
	}
	if beside := filepath.Join(filepath.Dir(self), "jianguo"); isFile(beside) {
		return beside, nil
	}
	found, err := exec.LookPath("jianguo")
	if err != nil {
		return "", errors.Join(errors.New("no jianguo beside this program and none in PATH: give --binary"), err)
	}
	return found, nil
}

func isFile(name string) bool {
	info, err := os.Stat(name)
	return err == nil && info.Mode().IsRegular()
}

// segmentFlags change the recipe.
type segmentFlags struct {
	UserDict string `help:"More words for the segmenter: word, frequency and part of speech a line." type:"existingfile" placeholder:"FILE"`
	Residue  string `help:"More page residue (share prompts, notices) that carries no weight." type:"existingfile" placeholder:"FILE"`
}

func (f segmentFlags) args() (args []string) {
	if f.UserDict != "" {
		args = append(args, "--user-dict", f.UserDict)
	}
	if f.Residue != "" {
		args = append(args, "--residue", f.Residue)
	}
	return args
}

// orTemporary returns dir, or a new temporary directory and a function that removes it.
func orTemporary(dir string) (string, func() error, error) {
	if dir != "" {
		return dir, func() error { return nil }, nil
	}
	dir, err := os.MkdirTemp("", "jianguo-bench-")
	if err != nil {
		return "", nil, fmt.Errorf("bench: %w", err)
	}
	return dir, func() error { return os.RemoveAll(dir) }, nil
}
