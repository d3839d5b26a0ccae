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

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	var c evalCmd
	kong.Parse(&c, kong.Name("jianguo eval"), kong.Description("Measures detection quality on documents and labels of your own."),
		kong.DefaultEnvars("JIANGUO"), kong.ConfigureHelp(kong.HelpOptions{Compact: true}), kong.UsageOnError())
	co := &streams{ctx: ctx, in: os.Stdin, out: os.Stdout, err: os.Stderr, progress: progress.To(os.Stderr),
		log: slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: c.LogLevel}))}
	if err := c.Run(co); err != nil {
		fmt.Fprintln(os.Stderr, "jianguo:", err)
		os.Exit(1)
	}
}
