package ingest

import (
	"context"
	"errors"
	"fmt"
	"net"
	"path/filepath"
	"strconv"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
)

// MaxPayload is the largest message the embedded bus takes, in bytes: a text
// of MaxText in which every character is escaped still fits.
const MaxPayload = 4 << 20

// BusConfig configures an embedded Bus. Dir is required.
type BusConfig struct {
	Dir    string // JetStream files; created if missing
	Listen string // host:port for clients of other processes; empty: none
	// Relaxed leaves syncing to the operating system; without it JetStream
	// syncs a message before it acknowledges it.
	Relaxed bool
}

// Bus is a NATS server with JetStream inside this process.
type Bus struct{ server *server.Server }

// StartBus starts an embedded bus and waits until it answers.
func StartBus(cfg BusConfig) (*Bus, error) {
	options := &server.Options{
		ServerName: "jianguo", JetStream: true, StoreDir: filepath.Clean(cfg.Dir), SyncAlways: !cfg.Relaxed,
		MaxPayload: MaxPayload, DontListen: cfg.Listen == "", NoSigs: true, NoLog: true,
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
	s, err := server.NewServer(options)
	if err != nil {
		return nil, fmt.Errorf("bus: %w", err)
	}
	s.Start()
	if !s.ReadyForConnections(30 * time.Second) {
		s.Shutdown()
		return nil, fmt.Errorf("bus: the embedded NATS server did not start within 30 s (address %q in use?)", cfg.Listen)
	}
	return &Bus{server: s}, nil
}

// Connect opens a connection that does not leave the process.
func (b *Bus) Connect() (*nats.Conn, error) {
	nc, err := nats.Connect("", nats.InProcessServer(b.server), nats.Name("jianguo"), nats.MaxReconnects(-1))
	if err != nil {
		return nil, fmt.Errorf("bus: %w", err)
	}
	return nc, nil
}

// URL is where clients of other processes find the bus; empty if it does not
// listen.
func (b *Bus) URL() string {
	if b.server.Addr() == nil {
		return ""
	}
	return b.server.ClientURL()
}

// Close stops the server after its files are closed.
func (b *Bus) Close() {
	b.server.Shutdown()
	b.server.WaitForShutdown()
}

// ConnectURL connects to a bus elsewhere and checks that it can carry what
// jianguo sends.
func ConnectURL(ctx context.Context, url string, options ...nats.Option) (*nats.Conn, error) {
	nc, err := nats.Connect(url, append([]nats.Option{nats.Name("jianguo"), nats.MaxReconnects(-1), nats.Timeout(5 * time.Second)}, options...)...)
	if err != nil {
		return nil, fmt.Errorf("bus %s: %w", url, err)
	}
	if limit := nc.MaxPayload(); limit < 1<<20 {
		nc.Close()
		return nil, fmt.Errorf("bus %s: max_payload is %d bytes, items need at least %d: raise max_payload in the server's configuration", url, limit, 1<<20)
	}
	if !nc.IsConnected() {
		nc.Close()
		return nil, errors.Join(fmt.Errorf("bus %s: not connected", url), ctx.Err())
	}
	return nc, nil
}
