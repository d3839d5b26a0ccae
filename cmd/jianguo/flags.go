package main

import (
	"errors"
	"fmt"
	"strings"
	"time"
)

// serveFlags are those of `serve` but the directory.
type serveFlags struct {
	Listen string `help:"Address of HTTP and the console." default:"127.0.0.1:8080"`
	externalBus
	NATSListen string `name:"nats-listen" help:"Address of the embedded bus; empty: in-process only." default:"127.0.0.1:4222"`
	Durability string `help:"What an acknowledgement means: ${enum}. synced: fsynced; relaxed: the operating system has it." enum:"synced,relaxed" default:"synced"`
	Language   string `help:"Language of the reasons in events: ${enum}." enum:"zh,en" default:"zh"`
	accessFlags
	Connections int  `help:"HTTP connections at once, half of them from one address at most, and as many of the embedded bus; fewer where the limit of open files is low." default:"4096"`
	Insecure    bool `help:"Without tokens, allow listening beyond loopback and requests for any host name."`

	ExposurePolicy string            `help:"How exposures are kept: 'rotate' or 'calendar', with options; or a file that ends in .json, of histories, kinds of reports and scenes." default:"rotate" placeholder:"POLICY"`
	ExposureStore  string            `help:"Keep users' histories in this Redis or Redis Cluster, for all services on the bus of --nats together." placeholder:"redis://HOST,..."`
	ExposureCache  int64             `help:"Memory for the histories of active users, in MiB." default:"256"`
	ExposureFlush  time.Duration     `help:"How long exposures may stay in memory before they are written to the state file; the bus keeps them until then." default:"10s"`
	Histories      map[string]string `help:"More histories with policies of their own, as video=calendar;ads=rotate." placeholder:"NAME=POLICY;..."`
	Scenes         map[string]string `help:"Which history a scene goes into; a scene not named goes into the default one." placeholder:"SCENE=HISTORY;..."`
	SnapshotEvery  int64             `help:"Least number of events between two snapshots of the resident index; never less than an eighth of all events." default:"200000"`
	TimeZone       string            `help:"Time zone of days and months." default:"Asia/Shanghai"`
	Backlog        int64             `help:"Items that may wait for their verdicts, in MiB, 64 at least. Publishers get an error beyond." default:"4096"`
	DiskReserve    uint64            `help:"Refuse writes while less than this is free on the disk of the data directory, in MiB." default:"256"`
	FailClosed     bool              `help:"A filter that cannot be computed answers with no items instead of all."`

	legacyFlags
	policyFlags
	segmentFlags
}

// accessFlags say who may use a service.
type accessFlags struct {
	Tokens       string   `help:"File of tokens (jianguo token); read again at SIGHUP." type:"existingfile" placeholder:"FILE"`
	TokenRate    float64  `help:"Requests a second that one token may make over HTTP; 0: no bound." default:"0"`
	TLSCert      string   `name:"tls-cert" help:"Certificate of HTTP and of the embedded bus, in PEM; read again at SIGHUP." type:"existingfile" placeholder:"FILE"`
	TLSKey       string   `name:"tls-key" help:"Its key." type:"existingfile" placeholder:"FILE"`
	TLSClientCA  string   `name:"tls-client-ca" help:"Let clients of other machines in only with a certificate of this authority." type:"existingfile" placeholder:"FILE"`
	EditorHeader string   `help:"Header in which a trusted proxy names the editor who is signed in." placeholder:"NAME"`
	EditorRole   string   `name:"editor-role-header" help:"Header in which it says their role: editor or operator; without it they are editors." placeholder:"NAME"`
	EditorProxy  []string `name:"editor-proxy" help:"Address or network of that proxy, as 10.1.2.0/24; none: loopback." placeholder:"NETWORK"`
}

// busWait is how long a start waits for a bus: elections of a cluster take seconds. Tests set less.
var busWait = time.Minute

// externalBus are the flags of a bus that this process does not run.
type externalBus struct {
	NATS string `name:"nats" help:"Use this bus instead of the embedded one; several servers of a cluster with commas between." placeholder:"URL"`
	busTrust
	StreamPrefix  string `help:"Begins the names of the streams on an external bus, where another application uses ITEMS, VERDICTS, DEAD or EXPOSURES. Subjects stay the same." placeholder:"PREFIX"`
	Replicas      int    `help:"Servers of an external bus that hold each message, 1 to 5; 0: three where it is a cluster, else one." default:"0"`
	CreateStreams bool   `help:"Change streams of an external bus that exist and could lose messages; without it such a stream ends the start with the reasons."`
}

func (f *externalBus) check() error {
	if f.NATS == "" && (f.StreamPrefix != "" || f.Replicas != 0 || f.CreateStreams) {
		return errors.New("--stream-prefix, --replicas and --create-streams are for a bus given with --nats: the embedded one has no other streams, and is one server")
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

// legacyFlags name the store that the platform had before.
type legacyFlags struct {
	LegacyRedis   string        `help:"Also ask this Redis about users who are not imported yet, and import them: redis://[user:password@]host:port/db." placeholder:"URL"`
	LegacyKey     string        `help:"Its key of a user's items, a ZSET, SET or LIST." default:"seen:{user}" placeholder:"PATTERN"`
	LegacyTimeout time.Duration `help:"How long a filter waits for it." default:"5ms"`
	Shadow        bool          `help:"Let the old store alone answer filters, import its users, and count where jianguo would answer otherwise."`
}
