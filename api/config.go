package api

import (
	"context"
	"crypto/tls"
	"log/slog"
	"sync/atomic"
	"time"

	"github.com/labstack/echo/v4"
	"github.com/nats-io/nats.go"
	"github.com/prometheus/client_golang/prometheus"

	"jianguo/api/console"
	"jianguo/api/tokens"
	"jianguo/bus"
	"jianguo/exposure"
	"jianguo/index"
	"jianguo/index/browse"
	"jianguo/ingest"
	"jianguo/segment"
)

// Limits of a request.
const (
	MaxBody = bus.MaxPayload   // bytes
	MaxWait = 30 * time.Second // of a long poll, and for a verdict
)

// Config configures a Server. Index, Ingest, Conn, Browse, Segmenter, Metrics and Room are
// required.
type Config struct {
	Index  *index.Index
	Ingest *ingest.Service
	Conn   *nats.Conn
	// Browse is what the lists of clusters and suspects are made of. They follow
	// the events; a moment may pass until they show one.
	Browse   *browse.Model
	Exposure *exposure.Store // nil: there are no exposures
	// Segmenter cuts the words of searches.
	Segmenter *segment.Segmenter

	Logger *slog.Logger
	// Metrics is what /metrics shows; those of the Server are added.
	Metrics *prometheus.Registry
	Tokens  *tokens.Set // nil: everything is open
	// TLS, if set, is spoken on the listener.
	TLS *tls.Config
	// AnyHost answers requests for any host name though there are no tokens;
	// without it, only for localhost and addresses.
	AnyHost bool
	Version string // for /healthz and the services on the bus
	// Console are the pages for people, to which New adds what this Config has too; nil: there are none.
	Console *console.Config
	// Room returns an error if the disk has no space for new items; the server then
	// refuses them with this error.
	Room func() error
	// Ready names the parts, in addition to the bus and Ingest, that must be ready. An
	// error says what a part waits for.
	Ready map[string]func() error

	Wait        time.Duration // for a verdict, at most MaxWait; 0: 10 s
	Concurrency int           // requests of a kind at once, at most; 0: 256
	Connections int           // at once, half of them from one address at most; 0: 4096
}

// Server answers HTTP requests and those on the bus.
type Server struct {
	cfg     Config
	log     *slog.Logger
	echo    *echo.Echo
	metrics *metrics

	publisher *ingest.Publisher
	hot       hotList

	held      atomic.Int64 // bytes of bodies
	work      gate
	waiting   gate // for verdicts
	polling   gate // for events
	filters   gate
	reports   gate // for what is stored of users
	shares    shares
	conns     *connections
	endpoints []endpoint
	ending    context.Context        // done once the server is about to end
	end       context.CancelFunc     // of ending
	parts     atomic.Pointer[string] // what /readyz said last
}

// endpoint is a request-reply service on the bus.
type endpoint struct {
	subject, description string
	// handle makes the reply of a request; its errors become error replies. Package must ends it.
	handle func(ctx context.Context, data []byte) []byte
}
