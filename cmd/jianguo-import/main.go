// Command jianguo-import moves users' histories from Redis or a file into a running service.
// `jianguo exposure import` runs it.
package main

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/signal"
	"syscall"

	"github.com/alecthomas/kong"

	"jianguo/internal/progress"
)

// streams are what the command reads from and writes to.
type streams struct {
	ctx      context.Context
	in       io.Reader
	out      io.Writer
	log      *slog.Logger
	progress progress.Reporter
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	var c importCmd
	kong.Parse(&c, kong.Name("jianguo exposure import"), kong.Description("Imports histories from Redis, Redis Cluster or a file into a running service."),
		kong.DefaultEnvars("JIANGUO"), kong.ConfigureHelp(kong.HelpOptions{Compact: true}), kong.UsageOnError())
	co := &streams{ctx: ctx, in: os.Stdin, out: os.Stdout, progress: progress.To(os.Stderr),
		log: slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: c.LogLevel}))}
	if err := c.Run(co); err != nil {
		fmt.Fprintln(os.Stderr, "jianguo:", err)
		os.Exit(1)
	}
}
