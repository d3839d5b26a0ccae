package bus

import (
	"cmp"
	"crypto/rand"
	"crypto/subtle"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"path/filepath"
	"regexp"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
)

// MaxPayload is the largest message the embedded bus takes, in bytes: a text
// of MaxText in which every character is escaped still fits.
const MaxPayload = 4 << 20

// MinPayload is what a bus elsewhere must take, in bytes: a text of MaxText as
// our own publishers escape it.
const MinPayload = 1 << 20

const (
	maxStore   = 1 << 50
	serverName = "jianguo"
)

// Config configures an embedded Bus. Dir is required.
type Config struct {
	Dir    string // JetStream files; created if missing
	Listen string // host:port for clients of other processes; empty: none
	// Relaxed leaves syncing to the operating system; without it a message is
	// durable when it is acknowledged.
	Relaxed bool
	// Gates are the streams whose messages a gate makes durable. They take none
	// before Gate has been called. Without any, JetStream itself syncs, before it
	// acknowledges, in every stream; with some, all others are relaxed.
	Gates []GatedStream
	// Reserve is how many bytes are to stay free on the disk of Dir: gates take
	// nothing while there are fewer, but for those that always take.
	Reserve uint64
	// Authenticate says whose secret a client gives, as its token or password;
	// nil: everybody is let in who reaches Listen.
	Authenticate func(secret string) (User, bool)
	Logger       *slog.Logger
	// Fail, where set, is called at named points of gates: gate.Config. For tests.
	Fail func(point string) error
}

// User is a client of an embedded Bus and the subjects it may use, which may
// have wildcards. Where both lists are nil, it may use all.
type User struct {
	Name               string
	Publish, Subscribe []string
}

// Embedded is a NATS server with JetStream inside this process.
type Embedded struct {
	server  *server.Server
	secret  string // lets this process in; empty: everybody is
	closing sync.Once
	done    chan struct{}         // closed by Close
	mended  chan struct{}         // closed when mend has ended
	room    atomic.Pointer[error] // why there is none; nil: there is
	full    atomic.Bool           // the disk was full, and JetStream has not been opened anew
	log     serverLog
	gates   *gates
}

// Start starts an embedded bus and waits until it answers.
func Start(cfg Config) (*Embedded, error) {
	options := &server.Options{
		ServerName: serverName, JetStream: true, StoreDir: filepath.Clean(cfg.Dir), SyncAlways: cfg.syncAlways(),
		// Its own bound would be three quarters of what is free at the start, and
		// no stream whose bound is more than that could be made. Streams have
		// bounds of their own, and a disk that is full says so.
		JetStreamMaxStore: maxStore,
		MaxPayload:        MaxPayload, DontListen: cfg.Listen == "", NoSigs: true, NoLog: true,
	}
	b := &Embedded{done: make(chan struct{}), mended: make(chan struct{}), gates: newGates(&cfg)}
	if cfg.Authenticate != nil {
		b.secret = rand.Text()
		options.CustomClientAuthentication = &doorkeeper{secret: b.secret, authenticate: cfg.Authenticate, log: cfg.Logger}
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
	if err := b.readyGates(); err != nil {
		return nil, err
	}
	b.look(cfg)
	b.server.SetLoggerV2(&b.log, false, false, false)
	b.server.Start()
	go b.mend(cfg)
	for deadline := time.Now().Add(30 * time.Second); !b.server.ReadyForConnections(250 * time.Millisecond); {
		if why := b.log.gaveUp(); why != "" || time.Now().After(deadline) {
			b.Close()
			return nil, fmt.Errorf("bus: the embedded NATS server did not start (%s, listen %q): %s", cfg.Dir, cfg.Listen, cmp.Or(why, "no answer within 30 s"))
		}
	}
	return b, nil
}

// syncAlways: JetStream syncs each message.
func (c *Config) syncAlways() bool { return !c.Relaxed && len(c.Gates) == 0 }

// doorkeeper lets clients in by their secret.
type doorkeeper struct {
	secret       string
	authenticate func(string) (User, bool)
	log          *slog.Logger // may be nil
}

// Check is called by the server for every client.
func (d *doorkeeper) Check(c server.ClientAuthentication) bool {
	o := c.GetOpts()
	given := cmp.Or(o.Token, o.Password, o.Username)
	if subtle.ConstantTimeCompare([]byte(given), []byte(d.secret)) == 1 {
		c.RegisterUser(&server.User{Username: "jianguo"})
		return true
	}
	u, ok := d.authenticate(given)
	if !ok {
		if d.log != nil {
			d.log.Warn("the bus refused a client: it knows no such token", "from", c.RemoteAddress(), "client", o.Name)
		}
		return false
	}
	user := &server.User{Username: u.Name}
	if u.Publish != nil || u.Subscribe != nil {
		user.Permissions = &server.Permissions{Publish: &server.SubjectPermission{Allow: throughGates(u.Publish)}, Subscribe: &server.SubjectPermission{Allow: u.Subscribe}}
	}
	c.RegisterUser(user)
	return true
}

// Secret lets a client in that may do everything, as long as this bus runs;
// empty where nobody needs one.
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

// URL is where clients of other processes find the bus; empty if it does not
// listen.
func (b *Embedded) URL() string {
	if b.server.Addr() == nil {
		return ""
	}
	return b.server.ClientURL()
}

// Full reports whether the disk was too full to write, so that streams may be
// broken until there is room and they are opened anew. Purging one that has
// failed to write locks the server up for good (nats-server 2.15). A bus elsewhere
// (nil) does not say.
func (b *Embedded) Full() bool { return b != nil && b.full.Load() }

// Close stops the server after its files are closed.
func (b *Embedded) Close() {
	b.closing.Do(func() { close(b.done) })
	<-b.mended
	b.closeGates()
	b.server.Shutdown()
	b.server.WaitForShutdown()
}

// ErrRefused says that a bus does not know a client's token, or wants one.
var ErrRefused = errors.New("the bus refused the token, or wants one")

// Connect connects to a bus elsewhere and checks that it can carry what
// jianguo sends. A URL may carry the client's token: nats://TOKEN@host:4222.
func Connect(url string, options ...nats.Option) (*nats.Conn, error) {
	nc, err := nats.Connect(url, append([]nats.Option{nats.Name("jianguo"), nats.MaxReconnects(-1), nats.Timeout(5 * time.Second)}, options...)...)
	switch {
	case errors.Is(err, nats.ErrAuthorization):
		err = ErrRefused
	case errors.Is(err, nats.ErrNoServers):
		err = fmt.Errorf("nobody answers there: is the service running? %w", err)
	}
	if err != nil {
		return nil, fmt.Errorf("bus %s: %w", RedactURL(url), err)
	}
	if limit := nc.MaxPayload(); limit < MinPayload {
		nc.Close()
		return nil, fmt.Errorf("bus %s: max_payload is %d bytes, items need at least %d: raise max_payload in the server's configuration", RedactURL(url), limit, MinPayload)
	}
	moveIn(nc, url)
	return nc, nil
}

var credentials = regexp.MustCompile(`//[^@/,]*@`)

// RedactURL leaves the token or password out of the address of a bus.
func RedactURL(url string) string { return credentials.ReplaceAllString(url, "//") }
