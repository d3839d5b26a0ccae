package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"strings"
	"time"

	"github.com/alecthomas/kong"

	"jianguo/index"
	"jianguo/index/sqlite"
	"jianguo/internal/progress"
)

// cli is the command line; every flag can also be set as JIANGUO_<FLAG>.
type cli struct {
	LogLevel slog.Level `help:"How much to log on standard error: debug, info, warn or error." default:"warn"`

	Serve       serveCmd       `cmd:"" help:"Run the service: bus, ingest, index, HTTP and console."`
	Demo        demoCmd        `cmd:"" help:"Run the service on the bundled sample corpus and show its verdicts."`
	Ingest      ingestCmd      `cmd:"" help:"Publish articles from files and wait for their verdicts."`
	Check       checkCmd       `cmd:"" help:"Show the verdict an article would get; nothing is stored."`
	Eval        evalCmd        `cmd:"" help:"Measure detection quality on documents and labels of your own."`
	Explain     explainCmd     `cmd:"" help:"Show how a later text is judged against an earlier one, and every number behind it."`
	Fingerprint fingerprintCmd `cmd:"" help:"Print the fingerprint of every line of standard input."`
	Verify      verifyCmd      `cmd:"" help:"Verify a data directory, or list its problems."`
	Reindex     reindexCmd     `cmd:"" help:"Compute old fingerprints again after a change of recipe: a new version, dictionary or residue list."`
	Backup      backupCmd      `cmd:"" help:"Copy a data directory, in use or not, into one that a service can start from."`
	Dead        deadCmd        `cmd:"" help:"List, show, replay or drop messages that were refused."`
	Exposure    exposureCmd    `cmd:"" help:"Estimate the size of users' histories."`
	Version     versionCmd     `cmd:"" help:"Print version, commit, recipe and policy."`
}

// streams are the inputs and outputs of a command.
type streams struct {
	ctx      context.Context
	in       io.Reader
	out      io.Writer
	err      io.Writer
	log      *slog.Logger
	progress progress.Reporter
}

// exitError ends a command with a code and, if err is not nil, a message.
type exitError struct {
	code int
	err  error
}

func (e *exitError) Error() string {
	if e.err == nil {
		return ""
	}
	return e.err.Error()
}

func (e *exitError) Unwrap() error { return e.err }

// run parses the command line, runs the command and returns the exit code. A mistake
// in the command line ends the process.
func run(ctx context.Context, args []string, in io.Reader, out, errOut io.Writer) int {
	var c cli
	parser := kong.Must(&c, kong.Name("jianguo"),
		kong.Description("见过 · has this been seen before? Rejects near-duplicate articles at ingest, and filters out what a user has already been shown."),
		kong.DefaultEnvars("JIANGUO"), kong.Writers(out, errOut), kong.ConfigureHelp(kong.HelpOptions{Compact: true}), kong.UsageOnError(),
		kong.Vars{"data": "jianguo-data"})
	command, err := parser.Parse(args)
	parser.FatalIfErrorf(err)
	co := &streams{ctx: ctx, in: in, out: out, err: errOut, progress: progress.To(errOut),
		log: slog.New(slog.NewTextHandler(errOut, &slog.HandlerOptions{Level: c.LogLevel}))}
	err = command.Run(co)
	if cause := context.Cause(co.ctx); errors.Is(err, context.Canceled) && cause != nil {
		err = cause // a signal, or a refusal of the bus
	}
	if err == nil {
		return 0
	}
	if err.Error() != "" {
		fmt.Fprintln(errOut, "jianguo:", err)
	}
	var exit *exitError
	if errors.As(err, &exit) {
		return exit.code
	}
	if sqlite.Damaged(err) {
		fmt.Fprintln(errOut, "jianguo: the file named is damaged: put a backup of the data directory in its place (docs/OPERATIONS.md, When something is wrong)")
	}
	return 1
}

// policyFlags are the parameters of a verdict.
type policyFlags struct {
	Rule     string        `help:"Which rules judge: ${enum}; hamming is the textbook." enum:"jianguo,hamming" default:"jianguo"`
	Distance int           `help:"Largest Hamming distance of a certain proposal, 0 to 3." default:"3"`
	Suspects string        `help:"How suspects are treated: ${enum}." enum:"publish,hold,reject" default:"publish"`
	Window   time.Duration `help:"How long a story is remembered after its last copy." default:"2160h"`
}

func (f policyFlags) policy() *index.Policy {
	p := index.DefaultPolicy()
	p.Rules, p.Distance, p.Suspects, p.Window = f.Rule, f.Distance, f.Suspects, f.Window
	p.Cap = max(p.Cap, p.Window)
	return &p
}

// segmentFlags change the recipe.
type segmentFlags struct {
	UserDict string `help:"More words for the segmenter: word, frequency and part of speech a line." type:"existingfile" placeholder:"FILE"`
	Residue  string `help:"More page residue (share prompts, notices) that carries no weight." type:"existingfile" placeholder:"FILE"`
}

// plural returns "1 item" or "2 items".
func plural(n int, word string) string {
	if n == 1 {
		return "1 " + word
	}
	return fmt.Sprintf("%d %ss", n, word)
}

func oneLine(s string) string { return strings.Join(strings.Fields(s), " ") }
