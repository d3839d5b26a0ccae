package bus

import (
	"crypto/tls"
	"log/slog"

	"github.com/prometheus/client_golang/prometheus"
)

// MaxPayload is the largest message that an embedded bus accepts, in bytes: a text of
// 512 KiB fits even if every character is escaped.
const MaxPayload = 4 << 20

// MinPayload is the least that an external bus must accept, in bytes: a text of 512 KiB
// as our own publishers escape it.
const MinPayload = 1 << 20

// Config configures an embedded bus. Dir is required.
type Config struct {
	Dir    string // JetStream files; created if missing
	Listen string // host:port for clients of other processes; empty: none
	// Relaxed leaves syncing to the operating system; without it a message is
	// durable when it is acknowledged.
	Relaxed bool
	// Gates are the streams whose messages a gate makes durable. They accept none
	// before Embedded.Create has been called. Without any, JetStream itself syncs, before
	// it acknowledges, in every stream; with some, all others are relaxed.
	Gates []GatedStream
	// Reserve is how many bytes must stay free on the disk of Dir: gates accept
	// nothing while fewer are free, except those with Always.
	Reserve uint64
	// TLS, if set, is what clients of other processes must speak.
	TLS *tls.Config
	// Connections bounds those of clients, this process's included; 0: 65,536.
	Connections int
	// Authenticate returns the user that a secret belongs to; a client gives it as
	// its token or password, and comes from an address. nil: every client that reaches
	// Listen is let in.
	Authenticate func(secret, from string) (User, bool)
	Logger       *slog.Logger
	Metrics      prometheus.Registerer // of gates; nil: they are not shown
	// Fail, if set, is called at named points of gates: gate.Config. For tests.
	Fail func(point string) error
}

func (c *Config) syncAlways() bool { return !c.Relaxed && len(c.Gates) == 0 }

// GatedStream is a stream with a gate.
type GatedStream struct {
	Name     string
	Subjects []string // all of the stream's
	// Always accepts messages however little of the disk is free: for messages that
	// others have to wait for.
	Always bool
}

// User is a client of an embedded bus and the subjects it may use, which may
// have wildcards. Where both lists are nil, it may use all.
type User struct {
	Name               string
	Publish, Subscribe []string
}
