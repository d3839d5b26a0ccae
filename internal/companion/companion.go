// Package companion runs a program that has one command of jianguo, so that the service does
// not carry what only that command needs.
package companion

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
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
	Service  []string // flags of the group Service
}

// Service is the group of flags of a command that a service is started with, where none runs.
const Service = "service"

// ErrPrinted ends a command with exit code 1 after it has printed the reason.
var ErrPrinted = errors.New("")

// Flags are those of every companion; its command embeds them.
type Flags struct {
	LogLevel slog.Level `help:"How much to log on standard error: debug, info, warn or error." default:"warn"`
}

// Level is how much to log.
func (f *Flags) Level() slog.Level { return f.LogLevel }

// Command is a command that embeds Flags. It, or the one that is chosen of its own commands, has a method
// Run(*Streams) error.
type Command interface{ Level() slog.Level }

// Commands are those of a program, each with a line about it.
type Commands map[string]struct {
	Command
	About string
}

// Main runs the command that the first argument names. Its name in help is that of a command of jianguo, with the
// words of under between.
func (all Commands) Main(args []string, under ...string) {
	if len(args) == 0 || all[args[0]].Command == nil {
		fmt.Fprintf(os.Stderr, "%s: want one of %s\n", filepath.Base(os.Args[0]), strings.Join(slices.Sorted(maps.Keys(all)), ", "))
		os.Exit(1)
	}
	c := all[args[0]]
	run(args[1:], strings.Join(slices.Concat([]string{"jianguo"}, under, args[:1]), " "), c.About, c.Command)
}

// run parses arguments into a command and runs it. It ends the process with exit code 1 after
// an error.
func run(args []string, name, description string, command Command) {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	parser := kong.Must(command, kong.Name(name), kong.Description(description),
		kong.ExplicitGroups([]kong.Group{{Key: Service, Title: "Flags where no service runs:"}}),
		kong.DefaultEnvars("JIANGUO"), kong.ConfigureHelp(kong.HelpOptions{Compact: true}), kong.UsageOnError())
	chosen, err := parser.Parse(args)
	parser.FatalIfErrorf(err)
	co := &Streams{Ctx: ctx, In: os.Stdin, Out: os.Stdout, Err: os.Stderr, Progress: progress.To(os.Stderr),
		Log: slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: command.Level()}))}
	for _, f := range chosen.Flags() {
		if f.Group != nil && f.Group.Key == Service && !f.Target.IsZero() {
			co.Service = append(co.Service, fmt.Sprintf("--%s=%v", f.Name, f.Target.Interface()))
		}
	}
	err = chosen.Run(co)
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

// Plural returns "1 item" or "2 items".
func Plural(n int, word string) string {
	if n == 1 {
		return "1 " + word
	}
	return fmt.Sprintf("%d %ss", n, word)
}
