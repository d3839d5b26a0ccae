// Package companion runs a program that has one command of jianguo, so that the service does
// not carry what only that command needs.
package companion

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/signal"
	"syscall"

	"github.com/alecthomas/kong"

	"jianguo/internal/progress"
	"jianguo/internal/sqlite"
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

// ErrPrinted ends a command with exit code 1 after it has printed the reason.
var ErrPrinted = errors.New("")

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
	co := &Streams{Ctx: ctx, In: os.Stdin, Out: os.Stdout, Err: os.Stderr, Progress: progress.To(os.Stderr),
		Log: slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: command.Level()}))}
	err = command.Run(co)
	if cause := context.Cause(co.Ctx); errors.Is(err, context.Canceled) && cause != nil {
		err = cause // a signal, or a refusal of the bus
	}
	if err == nil {
		return
	}
	if err.Error() != "" { // ErrPrinted, maybe joined
		fmt.Fprintln(os.Stderr, "jianguo:", err)
	}
	if sqlite.Damaged(err) {
		fmt.Fprintln(os.Stderr, "jianguo: the file named is damaged: put a backup of the data directory in its place (docs/OPERATIONS.md, When something is wrong)")
	}
	os.Exit(1)
}
