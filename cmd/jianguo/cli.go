package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"path/filepath"
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
	Verify      verifyCmd      `cmd:"" help:"Prove a data directory whole, or say what is wrong with it."`
	Reindex     reindexCmd     `cmd:"" help:"Make old fingerprints anew after a change of recipe: a new version, dictionary or residue list."`
	Backup      backupCmd      `cmd:"" help:"Copy a data directory, in use or not, into one that a service can start from."`
	Dead        deadCmd        `cmd:"" help:"List, show, replay or drop messages that were refused."`
	Exposure    exposureCmd    `cmd:"" help:"What users' histories take."`
	Version     versionCmd     `cmd:"" help:"Print version, commit, recipe and policy."`
}

// streams are what a command reads from and writes to.
type streams struct {
	ctx      context.Context
	in       io.Reader
	out      io.Writer
	err      io.Writer
	log      *slog.Logger
	progress progress.Reporter
}

// exitError ends a command with a code and, maybe, nothing more to say.
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

// exited is what kong's Exit throws, so that run can return.
type exited int

// run is the whole program: it returns the exit code.
func run(ctx context.Context, args []string, in io.Reader, out, errOut io.Writer) (code int) {
	defer func() {
		if v := recover(); v != nil {
			e, ok := v.(exited)
			if !ok {
				panic(v)
			}
			code = int(e)
		}
	}()
	var c cli
	parser, err := kong.New(&c, kong.Name("jianguo"),
		kong.Description("见过 · has this been seen before? Rejects near-duplicate articles at ingest, and filters out what a user has already been shown."),
		kong.DefaultEnvars("JIANGUO"), kong.Writers(out, errOut), kong.Exit(func(n int) { panic(exited(n)) }),
		kong.ConfigureHelp(kong.HelpOptions{Compact: true}), kong.UsageOnError(),
		kong.Vars{"data": defaultData()})
	if err != nil {
		panic(err) // the cli struct itself is wrong
	}
	kctx, err := parser.Parse(args)
	parser.FatalIfErrorf(err)
	co := &streams{ctx: ctx, in: in, out: out, err: errOut, progress: progress.To(errOut),
		log: slog.New(slog.NewTextHandler(errOut, &slog.HandlerOptions{Level: c.LogLevel}))}
	err = kctx.Run(co)
	if cause := context.Cause(co.ctx); errors.Is(err, context.Canceled) && cause != nil {
		err = cause // a signal, or what the bus refused
	}
	var exit *exitError
	switch {
	case err == nil:
		return 0
	case errors.As(err, &exit):
		if exit.err != nil {
			fmt.Fprintln(errOut, "jianguo:", exit.err)
		}
		return exit.code
	}
	fmt.Fprintln(errOut, "jianguo:", err)
	if sqlite.Damaged(err) {
		fmt.Fprintln(errOut, "jianguo: the file named is damaged: put a backup of the data directory in its place (docs/OPERATIONS.md, When something is wrong)")
	}
	return 1
}

func defaultData() string { return filepath.Join(".", "jianguo-data") }

// policyFlags are the numbers that decide a verdict.
type policyFlags struct {
	Rule     string        `help:"Which rules judge: ${enum}; hamming is the textbook." enum:"jianguo,hamming" default:"jianguo"`
	Distance int           `help:"Largest Hamming distance of a certain proposal, 0 to 3." default:"3"`
	Suspects string        `help:"What becomes of suspects: ${enum}." enum:"publish,hold,reject" default:"publish"`
	Window   time.Duration `help:"How long a story is remembered after its last copy." default:"2160h"`
}

func (f policyFlags) policy() *index.Policy {
	p := index.DefaultPolicy()
	p.Rules, p.Distance, p.Suspects, p.Window = f.Rule, f.Distance, f.Suspects, f.Window
	p.Cap = max(p.Cap, p.Window)
	return &p
}

// segmentFlags are what the recipe is made of.
type segmentFlags struct {
	UserDict string `help:"Further words for the segmenter: word, frequency and part of speech a line." type:"existingfile" placeholder:"FILE"`
	Residue  string `help:"Further page residue (share prompts, notices) that carries no weight." type:"existingfile" placeholder:"FILE"`
}

// plural is "1 item", "2 items".
func plural(n int, word string) string {
	if n == 1 {
		return "1 " + word
	}
	return fmt.Sprintf("%d %ss", n, word)
}

func oneLine(s string) string { return strings.Join(strings.Fields(s), " ") }
