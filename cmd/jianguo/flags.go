package main

import (
	"errors"
	"fmt"
	"log/slog"
	"os"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/alecthomas/kong"
)

// flagGroups are those of `serve --help`.
var flagGroups = []kong.Group{
	{Key: "everyday", Title: "Everyday:"},
	{Key: "bus", Title: "A bus of your own:"},
	{Key: "access", Title: "Who may:"},
	{Key: "exposures", Title: "Exposures:"},
	{Key: "detection", Title: "Detection:"},
	{Key: "tuning", Title: "Tuning:"},
}

// flagHelp is the help of a flag, with its range, and with its default where the placeholder hides that.
func flagHelp(v *kong.Value) string {
	help := kong.DefaultHelpValueFormatter(v)
	if low, high, ok := strings.Cut(v.Tag.Get("range"), ".."); ok {
		help += fmt.Sprintf(" From %s to %s.", low, high)
	}
	if v.HasDefault && v.Default != "" && v.Tag.PlaceHolder != "" {
		help += " Default: " + v.Default + "."
	}
	return help
}

// checkRanges holds the flags of a command line to their ranges.
func checkRanges(c *kong.Context) error {
	for _, f := range c.Flags() {
		if err := checkRange(f); err != nil {
			return err
		}
	}
	return nil
}

// checkRange holds a number or duration to the range in the tag of its flag.
func checkRange(f *kong.Flag) error {
	low, high, ranged := strings.Cut(f.Tag.Get("range"), "..")
	value := reflect.Indirect(f.Target)
	if !ranged || !value.IsValid() { // nil: not given
		return nil
	}
	if n := number(fmt.Sprint(value.Interface())); !(n >= number(low) && n <= number(high)) {
		return fmt.Errorf("--%s %v: want %s to %s", f.Name, value.Interface(), low, high)
	}
	return nil
}

// number reads a number, or a duration as nanoseconds.
func number(text string) float64 {
	if d, err := time.ParseDuration(text); err == nil {
		return float64(d)
	}
	n, _ := strconv.ParseFloat(text, 64) // kong has read it, and TestRanges the bounds
	return n
}

// variables are those of the environment that flags of a command or of those below it stand in.
func variables(command *kong.Node) (names []string) {
	for _, f := range command.Flags {
		names = append(names, f.Envs...)
	}
	for _, c := range command.Children {
		names = append(names, variables(c)...)
	}
	return names
}

// trimVariables takes from the variables of the environment the line break and spaces that a file or a form has added,
// and unsets those that are empty, but for the one whose emptiness has a meaning.
func trimVariables() {
	for _, entry := range os.Environ() {
		name, value, _ := strings.Cut(entry, "=")
		plain := strings.TrimSpace(value)
		switch {
		case !strings.HasPrefix(name, "JIANGUO_"):
		case plain == "" && name != "JIANGUO_NATS_LISTEN":
			_ = os.Unsetenv(name)
		case plain != value:
			_ = os.Setenv(name, plain) // a name that stands there is valid
		}
	}
}

// warnOfVariables warns of variables of the environment that look like flags and are none.
func warnOfVariables(log *slog.Logger, known []string, environment []string) {
	for _, entry := range environment {
		name, _, _ := strings.Cut(entry, "=")
		// Kubernetes sets JIANGUO_PORT… and JIANGUO_SERVICE_… for a service of this name.
		if slices.Contains(known, name) || !strings.HasPrefix(name, "JIANGUO_") ||
			strings.HasPrefix(name, "JIANGUO_PORT") || strings.HasPrefix(name, "JIANGUO_SERVICE_") {
			continue
		}
		log.Warn("a variable of the environment is no flag and has no effect", "variable", name)
	}
}

// serveFlags are those of `serve` but the directory.
type serveFlags struct {
	everydayFlags `group:"everyday"`
	externalBus   `group:"bus"`
	accessFlags   `group:"access"`
	exposureFlags `group:"exposures"`
	policyFlags   `group:"detection"`
	segmentFlags  `group:"detection"`
	tuningFlags   `group:"tuning"`

	recorded bool // judge by the policy that the directory records
}

// everydayFlags are those of a first day, with the directory, and with strictness and suspects of policyFlags.
type everydayFlags struct {
	Listen     string `help:"Address of HTTP and the console." default:"127.0.0.1:8080"`
	NATSListen string `name:"nats-listen" help:"Address of the bus; empty: in-process." default:"127.0.0.1:4222"`
	Tokens     string `help:"File of jianguo token; read again at SIGHUP." type:"existingfile" placeholder:"FILE"`
	Insecure   bool   `help:"Without tokens, allow listening beyond loopback and requests for any host name."`
	Language   string `help:"Language of the reasons in events: ${enum}." enum:"zh,en" default:"zh"`
	Durability string `help:"What an acknowledgement means: ${durability}." enum:"synced,relaxed" default:"synced"`

	ExposurePolicy string `help:"How exposures are kept: ${exposure_policy}." default:"rotate" placeholder:"POLICY"`
}

// accessFlags say who may use a service, beside tokens.
type accessFlags struct {
	TokenRate    float64  `help:"Requests a second of one token over HTTP; 0: no bound." range:"0..1000000" default:"0"`
	TLSCert      string   `name:"tls-cert" help:"${tls_cert}" type:"existingfile" placeholder:"FILE"`
	TLSKey       string   `name:"tls-key" help:"Its key." type:"existingfile" placeholder:"FILE"`
	TLSClientCA  string   `name:"tls-client-ca" help:"${tls_client_ca}" type:"existingfile" placeholder:"FILE"`
	EditorHeader string   `help:"Header in which a trusted proxy names the editor; needs --tokens." placeholder:"NAME"`
	EditorRole   string   `name:"editor-role-header" help:"${editor_role}" placeholder:"NAME"`
	EditorProxy  []string `help:"Network of that proxy, as 10.1.2.0/24; none: loopback." placeholder:"NETWORK"`
}

// exposureFlags say how users' histories are kept.
type exposureFlags struct {
	ExposureStore string `help:"${exposure_store}" placeholder:"redis://HOST"`
	TimeZone      string `help:"Time zone of days and months." default:"Asia/Shanghai"`
	FailClosed    bool   `help:"A filter that cannot be computed answers with no items instead of all."`
	legacyFlags
}

// tuningFlags are for machines that are small, or full.
type tuningFlags struct {
	ExposureCache int64         `help:"MiB for the histories of active users." range:"1..1000000000" default:"256"`
	ExposureFlush time.Duration `help:"${exposure_flush}" range:"1ms..1h" default:"10s"`
	SnapshotEvery int64         `help:"${snapshot_every}" range:"1..1000000000" default:"200000"`
	Backlog       int64         `help:"MiB that may wait before publishers fail." range:"64..1000000" default:"4096"`
	DiskReserve   int64         `help:"Free MiB below which writes are refused." range:"0..1000000000" default:"256"`
	Connections   int           `help:"${connections}" range:"16..1000000" default:"4096"`
}

// externalBus are the flags of a bus that this process does not run.
type externalBus struct {
	NATS string `name:"nats" help:"Use this bus; servers of a cluster with commas between." placeholder:"URL"`
	busTrust
	StreamPrefix   string `help:"${stream_prefix}" placeholder:"PREFIX"`
	Replicas       int    `help:"Servers that hold each message; 0: 3 of a cluster, or 1." range:"0..5" default:"0"`
	JudgeOtherwise bool   `help:"Start beside a service that judges otherwise: one ends where verdicts differ."`
	CreateStreams  bool   `help:"Change streams that could lose messages; without it such a stream ends the start."`
}

// legacyFlags name the store that the platform had before.
type legacyFlags struct {
	LegacyRedis string `help:"${legacy_redis}" placeholder:"URL"`
	LegacyKey   string `help:"Its key of a user's items, a ZSET, SET or LIST." default:"seen:{user}"`
}

// flagTexts are what does not fit into a tag.
var flagTexts = kong.Vars{
	"durability":      "synced: it is on disk; relaxed: the operating system has it",
	"exposure_policy": "rotate or calendar, with options, or a .json file of histories, kinds of reports and scenes",
	"tls_cert":        "Certificate of HTTP and of the embedded bus, in PEM; read again at SIGHUP.",
	"tls_client_ca":   "Let clients of other machines in only with a certificate of this authority.",
	"editor_role":     "Header in which it says their role, editor or operator; without it they are editors.",
	"exposure_store":  "Keep users' histories in this Redis or Redis Cluster, for all services on the bus.",
	"exposure_flush":  "How long exposures may stay in memory before they are written; the bus keeps them until then.",
	"snapshot_every": "Least number of events between two snapshots of the resident index; " +
		"never less than an eighth of all events.",
	"connections": "HTTP connections at once, half of them from one address at most, and as many of the " +
		"embedded bus; fewer where the limit of open files is low.",
	"stream_prefix": "Begins the names of the streams, where another application uses ITEMS, VERDICTS, DEAD or " +
		"EXPOSURES. Subjects stay the same.",
	"legacy_redis": "Import all users of this Redis in the background: redis://[user:password@]host:port/db.",
	"strictness":   "what makes news; copies: a sentence, 30 characters; rewrites: a paragraph, 80; stories: 200",
}

// busWait is how long a start waits for a bus: elections of a cluster take seconds. Tests set less.
var busWait = time.Minute

func (f *externalBus) check() error {
	if f.NATS == "" && (f.JudgeOtherwise || f.StreamPrefix != "" || f.Replicas != 0 || f.CreateStreams) {
		return errors.New("--stream-prefix, --replicas, --create-streams and --judge-otherwise are for a bus given " +
			"with --nats: the embedded one has no other streams and services, and is one server")
	}
	if strings.ContainsFunc(f.StreamPrefix, func(r rune) bool {
		return r != '_' && r != '-' && (r < '0' || r > '9') && (r < 'A' || r > 'Z') && (r < 'a' || r > 'z')
	}) {
		return fmt.Errorf("--stream-prefix %q: letters, digits, _ and - only", f.StreamPrefix)
	}
	return nil
}
