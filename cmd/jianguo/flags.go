package main

import (
	"errors"
	"fmt"
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

// flagHelp is the help of a flag, with its default where the placeholder hides that.
func flagHelp(v *kong.Value) string {
	help := kong.DefaultHelpValueFormatter(v)
	if v.HasDefault && v.Default != "" && v.Tag.PlaceHolder != "" {
		help += " Default: " + v.Default + "."
	}
	return help
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
	TokenRate    float64  `help:"Requests a second that one token may make over HTTP; 0: no bound." default:"0"`
	TLSCert      string   `name:"tls-cert" help:"${tls_cert}" type:"existingfile" placeholder:"FILE"`
	TLSKey       string   `name:"tls-key" help:"Its key." type:"existingfile" placeholder:"FILE"`
	TLSClientCA  string   `name:"tls-client-ca" help:"${tls_client_ca}" type:"existingfile" placeholder:"FILE"`
	EditorHeader string   `help:"Header in which a trusted proxy names the editor who is signed in." placeholder:"NAME"`
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
	ExposureCache int64         `help:"Memory for the histories of active users, in MiB." default:"256"`
	ExposureFlush time.Duration `help:"${exposure_flush}" default:"10s"`
	SnapshotEvery int64         `help:"${snapshot_every}" default:"200000"`
	Backlog       int64         `help:"Items that may wait, in MiB; then publishers get an error." default:"4096"`
	DiskReserve   uint64        `help:"Refuse writes while the disk has less than this free, in MiB." default:"256"`
	Connections   int           `help:"${connections}" default:"4096"`
}

// externalBus are the flags of a bus that this process does not run.
type externalBus struct {
	NATS string `name:"nats" help:"Use this bus; servers of a cluster with commas between." placeholder:"URL"`
	busTrust
	StreamPrefix  string `help:"${stream_prefix}" placeholder:"PREFIX"`
	Replicas      int    `help:"Servers that hold each message, 1 to 5; 0: three of a cluster, else one." default:"0"`
	CreateStreams bool   `help:"Change streams that could lose messages; without it such a stream ends the start."`
}

// legacyFlags name the store that the platform had before.
type legacyFlags struct {
	LegacyRedis   string        `help:"${legacy_redis}" placeholder:"URL"`
	LegacyKey     string        `help:"Its key of a user's items, a ZSET, SET or LIST." default:"seen:{user}"`
	LegacyTimeout time.Duration `help:"How long a filter waits for it." default:"5ms"`
	LegacyAll     bool          `help:"Import all of its users in the background, not only those asked about."`
	Shadow        bool          `help:"Let the old store alone answer filters, and count the differences."`
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
	"legacy_redis": "Also ask this Redis about users who are not imported yet, and import them: " +
		"redis://[user:password@]host:port/db.",
	"strictness": "what makes news; copies: a sentence, 30 characters; rewrites: a paragraph, 80; stories: 200",
}

// busWait is how long a start waits for a bus: elections of a cluster take seconds. Tests set less.
var busWait = time.Minute

func (f *externalBus) check() error {
	if f.NATS == "" && (f.StreamPrefix != "" || f.Replicas != 0 || f.CreateStreams) {
		return errors.New("--stream-prefix, --replicas and --create-streams are for a bus given with --nats: " +
			"the embedded one has no other streams, and is one server")
	}
	if strings.ContainsFunc(f.StreamPrefix, func(r rune) bool {
		return r != '_' && r != '-' && (r < '0' || r > '9') && (r < 'A' || r > 'Z') && (r < 'a' || r > 'z')
	}) {
		return fmt.Errorf("--stream-prefix %q: letters, digits, _ and - only", f.StreamPrefix)
	}
	if f.Replicas < 0 || f.Replicas > 5 {
		return fmt.Errorf("--replicas %d: want 1 to 5, or 0 for three where the bus is a cluster", f.Replicas)
	}
	return nil
}
