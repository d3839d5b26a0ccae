package bus

import (
	"cmp"
	"crypto/rand"
	"fmt"
	"log/slog"
	"net"
	"path/filepath"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"

	"jianguo/bus/gate"
)

// MaxPayload is the largest message that an embedded bus accepts, in bytes: a text of
// 512 KiB fits even if every character is escaped.
const MaxPayload = 4 << 20

// MinPayload is the least that an external bus must accept, in bytes: a text of 512 KiB
// as our own publishers escape it.
const MinPayload = 1 << 20

const (
	maxStore   = 1 << 50
	serverName = "jianguo"
	startWait  = 30 * time.Second
)

// Config configures an embedded bus. Dir is required.
type Config struct {
	Dir    string // JetStream files; created if missing
	Listen string // host:port for clients of other processes; empty: none
	// Relaxed leaves syncing to the operating system; without it a message is
	// durable when it is acknowledged.
	Relaxed bool
	// Gates are the streams whose messages a gate makes durable. They accept none
	// before Gate has been called. Without any, JetStream itself syncs, before it
	// acknowledges, in every stream; with some, all others are relaxed.
	Gates []GatedStream
	// Reserve is how many bytes must stay free on the disk of Dir: gates accept
	// nothing while fewer are free, except those with Always.
	Reserve uint64
	// Authenticate returns the user that a secret belongs to; a client gives it as
	// its token or password. nil: every client that reaches Listen is let in.
	Authenticate func(secret string) (User, bool)
	Logger       *slog.Logger
	// Fail, if set, is called at named points of gates: gate.Config. For tests.
	Fail func(point string) error
}

// syncAlways reports whether JetStream syncs each message.
func (c *Config) syncAlways() bool { return !c.Relaxed && len(c.Gates) == 0 }

// Embedded is a NATS server with JetStream inside this process. A nil *Embedded is an
// external bus: it has no gates, and what it acknowledges is durable by its own rules.
type Embedded struct {
	cfg     Config
	log     *slog.Logger
	server  *server.Server
	secret  string // lets this process in; empty: no client needs one
	closing sync.Once
	done    chan struct{}         // closed by Close
	watcher sync.WaitGroup        // runs watch
	room    atomic.Pointer[error] // why gates accept nothing; nil: they do
	full    atomic.Bool           // the disk was full, and JetStream has not been reopened

	outPrefix string // gates publish on it + the public subject; random, so that no client can
	mu        sync.RWMutex
	gates     map[string]*gate.Gate // open ones by stream; under mu
}

// Start starts an embedded bus and waits until it answers.
func Start(cfg Config) (*Embedded, error) {
	if cfg.Logger == nil {
		cfg.Logger = slog.New(slog.DiscardHandler)
	}
	if cfg.Relaxed {
		cfg.Gates = nil
	}
	b := &Embedded{cfg: cfg, log: cfg.Logger, done: make(chan struct{}), outPrefix: "_gate.out." + rand.Text() + ".", gates: map[string]*gate.Gate{}}
	options := &server.Options{
		ServerName: serverName, JetStream: true, StoreDir: filepath.Clean(cfg.Dir), SyncAlways: cfg.syncAlways(),
		// The server's own bound would be three quarters of what is free at the start, and
		// no stream with a larger bound could be created. Streams have bounds of their own.
		JetStreamMaxStore: maxStore,
		MaxPayload:        MaxPayload, DontListen: cfg.Listen == "", NoSigs: true, NoLog: true,
	}
	if cfg.Authenticate != nil {
		b.secret = rand.Text()
		options.CustomClientAuthentication = &authenticator{secret: b.secret, find: cfg.Authenticate, log: b.log}
	}
	if cfg.Listen != "" {
		host, port, err := net.SplitHostPort(cfg.Listen)
		if err != nil {
			return nil, fmt.Errorf("bus: listen address %q: %w", cfg.Listen, err)
		}
		options.Host = host
		if options.Port, err = strconv.Atoi(port); err != nil {
			return nil, fmt.Errorf("bus: listen address %q: %w", cfg.Listen, err)
		}
		if options.Port == 0 {
			options.Port = server.RANDOM_PORT
		}
	}
	var err error
	if b.server, err = server.NewServer(options); err != nil {
		return nil, fmt.Errorf("bus: %w", err)
	}
	if err := b.prepareGates(); err != nil {
		return nil, err
	}
	b.look()
	log := new(startLog)
	b.server.SetLoggerV2(log, false, false, false)
	b.server.Start()
	for deadline := time.Now().Add(startWait); !b.server.ReadyForConnections(250 * time.Millisecond); {
		if why := log.fatal(); why != "" || time.Now().After(deadline) {
			b.Close()
			return nil, fmt.Errorf("bus: the embedded NATS server did not start (%s, listen %q): %s", cfg.Dir, cfg.Listen, cmp.Or(why, fmt.Sprintf("no answer within %v", startWait)))
		}
	}
	b.watcher.Go(b.watch)
	return b, nil
}

// Secret lets a client in that may do everything, as long as this bus runs;
// empty where no client needs one.
func (b *Embedded) Secret() string { return b.secret }

// Connect opens a connection that does not leave the process.
func (b *Embedded) Connect() (*nats.Conn, error) {
	nc, err := nats.Connect("", nats.InProcessServer(b.server), nats.Name("jianguo"), nats.MaxReconnects(-1), nats.Token(b.secret),
		nats.CustomInboxPrefix(ownInbox+rand.Text()))
	if err != nil {
		return nil, fmt.Errorf("bus: %w", err)
	}
	return nc, nil
}

// URL is the address for clients of other processes; empty if the bus does not listen.
func (b *Embedded) URL() string {
	if b.server.Addr() == nil {
		return ""
	}
	return b.server.ClientURL()
}

// Full reports whether the disk was too full to write, so that streams may be broken
// until there is room and they are reopened. To purge a stream whose write has failed
// blocks the server for good (nats-server 2.15).
func (b *Embedded) Full() bool { return b != nil && b.full.Load() }

// Close stops the server after its files are closed.
func (b *Embedded) Close() {
	b.closing.Do(func() { close(b.done) })
	b.watcher.Wait()
	b.closeGates()
	b.server.Shutdown()
	b.server.WaitForShutdown()
}
