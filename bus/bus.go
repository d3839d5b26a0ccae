package bus

import (
	"cmp"
	"context"
	"crypto/rand"
	"fmt"
	"log/slog"
	"math"
	"net"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"

	"jianguo/bus/gate"
	"jianguo/internal/health"
	"jianguo/internal/wrap"
)

// startWait is how long the embedded server may take to answer.
const startWait = 30 * time.Second

// tlsWait is how long a client may take to begin with TLS.
const tlsWait = 5 * time.Second

// Embedded is a NATS server with JetStream inside this process. A nil *Embedded is an
// external bus: it has no gates, and what it acknowledges is durable by its own rules.
type Embedded struct {
	cfg     Config
	server  *server.Server
	secret  string             // lets this process in; empty: no client needs one
	stop    context.CancelFunc // ends what runs beside the server
	running sync.WaitGroup
	room    health.Trouble // why gates accept nothing, by the space on the disk
	full    atomic.Bool    // the disk was full, and JetStream has not been reopened
	stats   *gate.Stats
	out     string // gates publish on it + the public subject; random, so that no client can

	opening sync.Mutex           // held while JetStream is reopened, and while a stream is created
	created map[string]time.Time // opening; when the stream of each gate was created
	mu      sync.RWMutex
	gates   map[string]*gate.Gate // mu; the open ones, by stream
}

// Start starts an embedded bus and waits until it answers.
func Start(cfg Config) (*Embedded, error) {
	cfg.Logger = cmp.Or(cfg.Logger, slog.New(slog.DiscardHandler))
	if cfg.Relaxed {
		cfg.Gates = nil
	}
	running, stop := context.WithCancel(context.Background())
	b := &Embedded{cfg: cfg, stop: stop, out: "_gate.out." + rand.Text() + ".",
		stats: gate.NewStats(cfg.Metrics), gates: map[string]*gate.Gate{}, created: map[string]time.Time{}}
	options := &server.Options{
		ServerName: serverName, JetStream: true, StoreDir: filepath.Clean(cfg.Dir), SyncAlways: cfg.syncAlways(),
		// The server's own bound would be three quarters of what is free at the start, and
		// no stream with a larger bound could be created. Streams have bounds of their own.
		JetStreamMaxStore: maxStore,
		MaxPayload:        MaxPayload, MaxConn: cfg.Connections, DontListen: cfg.Listen == "",
		NoSigs: true, NoLog: true,
	}
	if cfg.Authenticate != nil {
		b.secret = rand.Text()
		options.CustomClientAuthentication = &authenticator{secret: b.secret, find: cfg.Authenticate, log: cfg.Logger}
	}
	if cfg.TLS != nil {
		options.TLS, options.TLSConfig, options.TLSTimeout = true, cfg.TLS, tlsWait.Seconds()
	}
	if cfg.Listen != "" {
		host, port, err := net.SplitHostPort(cfg.Listen)
		if err == nil {
			options.Port, err = net.LookupPort("tcp", port)
		}
		if err != nil {
			return nil, fmt.Errorf("bus: listen address %q: %w", cfg.Listen, err)
		}
		options.Host, options.Port = host, cmp.Or(options.Port, server.RANDOM_PORT)
	}
	var err error
	if b.server, err = server.NewServer(options); err != nil {
		return nil, fmt.Errorf("bus: %w", err)
	}
	b.measureDisk()
	if err := b.prepareGates(); err != nil {
		return nil, err
	}
	log := new(startLog)
	b.server.SetLoggerV2(log, false, false, false)
	b.server.Start()
	for deadline := time.Now().Add(startWait); !b.server.ReadyForConnections(250 * time.Millisecond); {
		if why := log.why.Err(); why != nil || time.Now().After(deadline) {
			b.Close()
			return nil, fmt.Errorf("bus: the embedded NATS server did not start (%s, --nats-listen %q): %w",
				cfg.Dir, cfg.Listen, cmp.Or(why, fmt.Errorf("no answer within %v", startWait)))
		}
	}
	b.running.Go(func() { b.watch(running) })
	return b, nil
}

// Secret lets a client in that may do everything, as long as this bus runs;
// empty where no client needs one.
func (b *Embedded) Secret() string { return b.secret }

// Connect opens a connection that does not leave the process.
func (b *Embedded) Connect() (*nats.Conn, error) {
	return connectTo(b.server, b.secret)
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

// Create calls create, which creates or updates a stream, while the bus is not being
// reopened: it would not know its own streams. Then it opens the gate of the stream, if the
// bus has one for it.
func (b *Embedded) Create(ctx context.Context, stream string, create func() error) error {
	if b == nil {
		return create()
	}
	b.opening.Lock()
	defer b.opening.Unlock()
	if err := create(); err != nil {
		return err
	}
	return b.openGate(ctx, stream)
}

// Synced returns once every message of a stream, up to one that a consumer has received,
// is as durable as its acknowledgement promises, and up to which one all are. A consumer
// calls it before it makes durable that messages have been dealt with. Where the stream has
// no gate, it returns at once. The error wraps ErrBroken where no waiting will help.
func (b *Embedded) Synced(ctx context.Context, stream string, seq uint64) (upTo uint64, err error) {
	if open := b.gate(stream); open != nil {
		upTo, err = open.Synced(ctx, seq)
		return upTo, wrap.Err(err, "bus: stream %s up to %d", stream, seq)
	}
	return math.MaxUint64, nil
}

// Purgeable is the sequence up to which, exclusively, messages of a stream may be removed,
// of those before seq; 0: none. Only whole files are removed: one that is rewritten is not
// durable for a moment. A file holds a quarter of a stream's bound or 8 MB; a stream of
// less than 16 MiB may be a single file, from which nothing is ever removed.
func (b *Embedded) Purgeable(stream string, seq uint64) uint64 {
	if open := b.gate(stream); open != nil {
		return open.FileStart(seq)
	}
	return seq
}

// gate returns the open gate of a stream; nil: it has none.
func (b *Embedded) gate(stream string) *gate.Gate {
	if b == nil {
		return nil
	}
	b.mu.RLock()
	defer b.mu.RUnlock()
	return b.gates[stream]
}

// Disconnect ends the connections of clients with some names. They may connect again if
// their tokens allow it.
func (b *Embedded) Disconnect(names []string) error {
	if b == nil || len(names) == 0 {
		return nil
	}
	list, err := b.server.Connz(&server.ConnzOptions{Username: true, Limit: math.MaxInt32})
	if err != nil {
		return fmt.Errorf("bus: %w", err)
	}
	for _, c := range list.Conns {
		if slices.Contains(names, c.AuthorizedUser) {
			_ = b.server.DisconnectClientByID(c.Cid) // an error means that it has gone
		}
	}
	return nil
}

// Close lets gates store what they have received, and stops the server after its files are
// closed.
func (b *Embedded) Close() {
	b.stop()
	b.running.Wait()
	var closing sync.WaitGroup
	b.mu.RLock()
	for _, open := range b.gates {
		closing.Go(open.Close)
	}
	b.mu.RUnlock()
	closing.Wait()
	b.server.Shutdown()
	b.server.WaitForShutdown()
}

// startLog is the logger of the embedded server. It keeps the reason why the server did
// not start. All other errors reach the clients.
type startLog struct{ why health.Trouble }

func (l *startLog) Fatalf(format string, v ...any) { l.why.First(fmt.Errorf(format, v...)) }

func (*startLog) Noticef(string, ...any) {}
func (*startLog) Warnf(string, ...any)   {}
func (*startLog) Errorf(string, ...any)  {}
func (*startLog) Debugf(string, ...any)  {}
func (*startLog) Tracef(string, ...any)  {}
