// Command jianguo rejects near-duplicate articles at ingest and filters out
// what a user has already been shown. `jianguo --help` lists its commands.
package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"os"
	"os/signal"
	"regexp"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"
	"sync"
	"syscall"

	"github.com/alecthomas/kong"

	"jianguo/bus"
	"jianguo/internal/datadir"
	"jianguo/internal/must"
	"jianguo/internal/sqlite"
	"jianguo/internal/wrap"
)

func main() {
	syscall.Umask(0o077) // what is written is about users, and for this user only
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	code := run(ctx, os.Args[1:], os.Stdin, os.Stdout, os.Stderr)
	stop()
	os.Exit(code)
}

// cli is the command line; every flag can also be set as JIANGUO_<FLAG>.
type cli struct {
	LogLevel    slog.Level       `help:"How much to log on standard error: debug, info, warn or error." default:"warn"`
	ShowVersion kong.VersionFlag `name:"version" env:"-" help:"Print the version."`

	Serve   serveCmd   `cmd:"" help:"Run the service: bus, ingest, index, HTTP and console."`
	Demo    demoCmd    `cmd:"" help:"Run the service on the bundled sample corpus and show its verdicts."`
	Ingest  ingestCmd  `cmd:"" help:"Publish articles from files and wait for their verdicts."`
	Check   checkCmd   `cmd:"" help:"Show the verdict an article would get; nothing is stored."`
	Eval    evalCmd    `cmd:"" help:"Measure detection quality on documents and labels of your own."`
	Rejudge rejudgeCmd `cmd:"" help:"Judge what arrived lately again, by another policy, on a copy."`
	Explain explainCmd `cmd:"" help:"Show how a text is judged against another, with every number."`
	Health  healthCmd  `cmd:"" help:"Ask a running service whether it answers."`
	Verify  verifyCmd  `cmd:"" help:"Verify a data directory, or list its problems."`
	Repair  repairCmd  `cmd:"" help:"Make again what can be derived from the catalogue, and say what cannot."`
	Reindex reindexCmd `cmd:"" help:"Compute fingerprints again, after a change of recipe."`
	Backup  backupCmd  `cmd:"" help:"Copy a data directory, in use or not."`
	Restore restoreCmd `cmd:"" help:"Make a data directory of a backup."`
	Migrate migrateCmd `cmd:"" help:"Move users' histories into the Redis of a fleet, or back."`
	Dead    deadCmd    `cmd:"" help:"List, show, replay or drop messages that were refused."`
	Token   tokenCmd   `cmd:"" help:"Add, list or revoke tokens in a file of tokens."`
	Version versionCmd `cmd:"" help:"Print version, commit, recipe and policy."`
}

// stdio are the inputs and outputs of a command.
type stdio struct {
	ctx      context.Context
	in       io.Reader
	out      io.Writer // printable
	raw      io.Writer // where out goes, for what is meant for a file
	err      io.Writer
	log      *slog.Logger
	progress progress
}

// input is standard input until a signal: a read of a terminal or a pipe would wait for what may never come.
type input struct {
	ctx context.Context
	in  io.Reader
}

// Read reads what comes before the signal.
func (i input) Read(p []byte) (int, error) {
	var n int
	var err error
	b, done := make([]byte, len(p)), make(chan struct{})
	go func() {
		n, err = i.in.Read(b)
		close(done)
	}()
	select {
	case <-done:
		return copy(p, b[:n]), err
	case <-i.ctx.Done():
		return 0, i.ctx.Err()
	}
}

// printable writes to a terminal what others wrote, without commanding it: a control character, or one that reorders
// a line, becomes \u001b, which in JSON is the same.
type printable struct{ io.Writer }

var controls = regexp.MustCompile(`[\x00-\x08\x0b-\x1f\x7f-\x9f\x{202a}-\x{202e}\x{2066}-\x{2069}]`)

func (p printable) Write(b []byte) (int, error) {
	_, err := p.Writer.Write(controls.ReplaceAllFunc(b, func(c []byte) []byte {
		return fmt.Appendf(nil, `\u%04x`, []rune(string(c))[0])
	}))
	return len(b), err
}

// print prints a value as an indented JSON document. It panics on errors (must).
func (co *stdio) print(v any) {
	out := json.NewEncoder(co.out)
	out.SetIndent("", " ")
	must.Do(out.Encode(v))
}

// errPrinted ends a command with exit code 1 after it has printed the reason.
var errPrinted = errors.New("")

// newParser makes a parser of flags, each of which may also stand in the environment.
func newParser(flags any, options ...kong.Option) *kong.Kong {
	return kong.Must(flags, append(options, kong.Name("jianguo"), kong.DefaultEnvars("JIANGUO"),
		kong.ExplicitGroups(flagGroups), flagTexts, kong.WithAfterApply(checkRanges),
		kong.Vars{"data": "./jianguo-data", "levels": "copies,rewrites,stories", "version": "jianguo " + version,
			"roles": strings.Join(bus.RoleNames, ",")})...)
}

// parse reads the command line. A mistake is one line that names the command whose help explains it.
func parse(c *cli, args []string, out, errOut io.Writer) (*kong.Context, error) {
	if len(args) > 0 && args[0] == "help" {
		args = append(slices.Clone(args[1:]), "--help")
	}
	parser := newParser(c, kong.Description(about), kong.Writers(out, errOut), kong.ValueFormatter(flagHelp),
		kong.ConfigureHelp(kong.HelpOptions{Compact: true}))
	command, err := parser.Parse(args)
	if mistake, ok := errors.AsType[*kong.ParseError](err); ok {
		at := cmp.Or(mistake.Context.Selected(), parser.Model.Node)
		return nil, fmt.Errorf("%w; see %s --help", err, at.FullPath())
	}
	return command, err
}

const about = "见过 · has this been seen before? Rejects near-duplicate articles at ingest, and filters out what a " +
	"user has already been shown."

// run parses the command line, runs the command and returns the exit code.
func run(ctx context.Context, args []string, in io.Reader, out, errOut io.Writer) int {
	var c cli
	trimVariables()
	command, err := parse(&c, args, out, errOut)
	if err != nil {
		fmt.Fprintln(printable{errOut}, "jianguo:", err)
		return 2
	}
	dir, err := c.directory(command)
	if err != nil {
		fmt.Fprintln(printable{errOut}, "jianguo:", err)
		return 1
	}
	co := &stdio{ctx: ctx, in: input{ctx, in}, out: printable{out}, raw: out, err: errOut,
		log:      slog.New(slog.NewTextHandler(errOut, &slog.HandlerOptions{Level: c.LogLevel})),
		progress: progressTo(errOut)}
	warnOfVariables(co.log, variables(command.Model.Node), os.Environ())
	err = command.Run(co)
	if cause := context.Cause(co.ctx); errors.Is(err, context.Canceled) && cause != nil {
		err = cause // a signal, or a refusal of the bus
	}
	if err == nil {
		return 0
	}
	if err.Error() != "" { // errPrinted, maybe joined
		fmt.Fprintln(printable{errOut}, "jianguo:", err)
	}
	owner, unknown := datadir.OwnerOf(dir)
	if errors.Is(err, fs.ErrPermission) && unknown == nil && owner.UID != os.Geteuid() {
		fmt.Fprintf(errOut, "jianguo: %s belongs to user %v: run this as that user, or as root\n", dir, owner)
	}
	if sqlite.Damaged(err) {
		fmt.Fprintln(errOut, "jianguo: the file named is damaged: put a backup of the data directory in its place "+
			"(docs/OPERATIONS.md, When something is wrong)")
	}
	return 1
}

// directory returns the data directory that a command line names. It is an error if there is none, unless the command
// makes one.
func (c *cli) directory(command *kong.Context) (dir string, err error) {
	makes := map[string]bool{"serve": true, "demo": true, "ingest": c.Ingest.Create}[command.Selected().Name]
	flags := map[string]string{}
	for _, f := range command.Flags() {
		flags[f.Name] = f.Target.String()
	}
	dir, elsewhere := flags["data"], flags["nats"]+flags["exposure-store"] != ""
	if dir == "" || makes || elsewhere && dir == os.Getenv("JIANGUO_DATA") {
		return dir, nil
	}
	_, err = os.Stat(dir)
	return dir, wrap.Err(err, "--data")
}

// plural returns "1 item" or "2 items".
func plural(n int, word string) string {
	if n == 1 {
		return "1 " + word
	}
	return fmt.Sprintf("%d %ss", n, word)
}

// processors returns the number of processors that may run Go, and raises GOMAXPROCS by
// one. Segmentation has a goroutine for each processor. Without one more place, all
// places are taken while articles wait, and the runtime polls the network only every
// 10 ms: acknowledgements of the bus and requests to POST /filter wait for that. With
// one more, the operating system shares the processors, and prefers the thread that has
// waited longest.
//
// With one processor GOMAXPROCS stays: the two places would take turns, and a request
// to POST /filter would cost a fifth more. A GOMAXPROCS of the environment stays too.
// The limit of a container counts as it is at the start.
var processors = sync.OnceValue(func() int {
	n := runtime.GOMAXPROCS(0)
	if n > 1 && os.Getenv("GOMAXPROCS") == "" {
		runtime.GOMAXPROCS(n + 1)
	}
	return n
})

// version is the tag that the binary was built from, or the nearest one before it, with
// the commit.
var version = func() string {
	if info, ok := debug.ReadBuildInfo(); ok && info.Main.Version != "" && info.Main.Version != "(devel)" {
		return info.Main.Version
	}
	return "devel"
}()

type versionCmd struct {
	policyFlags
	segmentFlags
}

func (c *versionCmd) Run(co *stdio) error {
	commit := "unknown"
	if info, ok := debug.ReadBuildInfo(); ok {
		for _, s := range info.Settings {
			if s.Key == "vcs.revision" {
				commit = s.Value
			}
		}
	}
	s, err := c.segmenter()
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(co.out, "jianguo %s\ncommit  %s\nrecipe  %s\npolicy  %s\n", version, commit, s.Recipe(),
		c.policy().Hash())
	return err
}
