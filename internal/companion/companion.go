// Package companion runs a program that has one command of jianguo, so that the service does
// not carry what only that command needs.
package companion

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

// Streams are what a command reads from and writes to.
type Streams struct {
	Ctx      context.Context
	In       io.Reader
	Out      io.Writer
	Err      io.Writer
	Log      *slog.Logger
	Progress progress.Reporter
}

// Flags are those of every companion; its command embeds them.
type Flags struct {
	LogLevel slog.Level `help:"How much to log on standard error: debug, info, warn or error." default:"warn"`
}

// Level is how much to log.
func (f *Flags) Level() slog.Level { return f.LogLevel }

// Command is a command that embeds Flags.
type Command interface {
	Run(*Streams) error
	Level() slog.Level
}

// Main parses arguments into a command and runs it. It ends the process with exit code 1 after
// an error.
func Main(args []string, name, description string, command Command) {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	parser := kong.Must(command, kong.Name(name), kong.Description(description),
		kong.DefaultEnvars("JIANGUO"), kong.ConfigureHelp(kong.HelpOptions{Compact: true}), kong.UsageOnError())
	_, err := parser.Parse(args)
	parser.FatalIfErrorf(err)
	err = command.Run(&Streams{Ctx: ctx, In: os.Stdin, Out: os.Stdout, Err: os.Stderr, Progress: progress.To(os.Stderr),
		Log: slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: command.Level()}))})
	if err != nil {
		fmt.Fprintln(os.Stderr, "jianguo:", err)
		os.Exit(1)
	}
}
