// Command jianguo-eval measures detection quality on documents and labels of the user's own.
// `jianguo eval` runs it. It is a program of its own so that the service does not carry it.
package main

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/signal"
	"runtime/debug"
	"syscall"

	"github.com/alecthomas/kong"

	"jianguo/internal/progress"
)

// version is the tag that the binary was built from, or the nearest one before it, with
// the commit.
var version = func() string {
	if info, ok := debug.ReadBuildInfo(); ok && info.Main.Version != "" && info.Main.Version != "(devel)" {
		return info.Main.Version
	}
	return "devel"
}()

// streams are what the command reads from and writes to.
type streams struct {
	ctx      context.Context
	in       io.Reader
	out      io.Writer
	err      io.Writer
	log      *slog.Logger
	progress progress.Reporter
}

// command is one of the two that this program has.
type command interface{ Run(co *streams) error }

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	args, name, about := os.Args[1:], "jianguo eval", "Measures detection quality on documents and labels of your own."
	var evaluates evalCmd
	var rejudges rejudgeCmd
	c, level := command(&evaluates), &evaluates.LogLevel
	if len(args) > 0 && args[0] == "rejudge" {
		args, name, about = args[1:], "jianguo rejudge", "Judges what arrived lately again under another policy, and lists what would change. Works on a copy; the data directory may be in use and is not changed."
		c, level = &rejudges, &rejudges.LogLevel
	}
	parser := kong.Must(c, kong.Name(name), kong.Description(about), kong.DefaultEnvars("JIANGUO"), kong.ConfigureHelp(kong.HelpOptions{Compact: true}), kong.UsageOnError())
	_, err := parser.Parse(args)
	parser.FatalIfErrorf(err)
	co := &streams{ctx: ctx, in: os.Stdin, out: os.Stdout, err: os.Stderr, progress: progress.To(os.Stderr),
		log: slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: *level}))}
	if err := c.Run(co); err != nil {
		fmt.Fprintln(os.Stderr, "jianguo:", err)
		os.Exit(1)
	}
}
