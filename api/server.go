package api

import (
	"cmp"
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	_ "net/http/pprof" // profiles under /debug/pprof of http.DefaultServeMux
	"strconv"
	"sync/atomic"
	"time"

	"github.com/labstack/echo/v4"
	"github.com/labstack/echo/v4/middleware"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"jianguo/api/console"
	"jianguo/bus"
	"jianguo/exposure"
	"jianguo/ingest"
	"jianguo/internal/must"
)

// Limits of a request.
const (
	MaxBody = bus.MaxPayload   // bytes
	MaxWait = 30 * time.Second // of a long poll, and for a verdict
)

// Config configures a Server. Parts but for Tokens, Logger and Ready, Metrics and Room are required.
type Config struct {
	console.Parts
	Exposure *exposure.Store // nil: there are no exposures
	// Metrics is what /metrics shows; those of the Server are added.
	Metrics *prometheus.Registry
	// TLS, if set, is spoken on the listener.
	TLS *tls.Config
	// AnyHost answers requests for any host name though there are no tokens;
	// without it, only for localhost and addresses.
	AnyHost bool
	// Console are the pages for people, to which New adds Parts; nil: there are none.
	Console *console.Config
	// Room returns an error if the disk has no space for new items; the server then
	// refuses them with this error.
	Room func() error

	Wait        time.Duration // for a verdict, at most MaxWait; 0: 10 s
	Concurrency int           // requests of a kind at once, at most; 0: 256
	Connections int           // at once, half of them from one address at most; 0: 4096
}

// Server answers HTTP requests and those on the bus.
type Server struct {
	cfg  Config
	log  *slog.Logger
	echo *echo.Echo

	requests, services, closed *prometheus.CounterVec
	seconds                    *prometheus.HistogramVec

	publisher *ingest.Publisher
	hot       *hotList

	bodyBytes  atomic.Int64 // that all bodies hold in memory
	work       limiter
	waiting    limiter // for verdicts
	polling    limiter // for events
	filters    limiter
	reports    limiter // for what is stored of users
	publishers publishers
	conns      *connections
	endpoints  []endpoint
	ending     context.Context        // done once the server is about to end
	end        context.CancelFunc     // of ending
	parts      atomic.Pointer[string] // what /readyz said last
}

// endpoint is a request-reply service on the bus.
type endpoint struct {
	subject, description string
	// handle makes the reply of a request; its errors become error replies. It panics on errors (must).
	handle func(ctx context.Context, data []byte) []byte
}

// New makes a Server. It does nothing on the bus until Serve.
func New(cfg Config) (*Server, error) {
	cfg.Logger, cfg.Wait = cmp.Or(cfg.Logger, slog.New(slog.DiscardHandler)), cmp.Or(cfg.Wait, 10*time.Second)
	cfg.Concurrency, cfg.Connections = cmp.Or(cfg.Concurrency, 256), cmp.Or(cfg.Connections, 4096)
	s := &Server{cfg: cfg, log: cfg.Logger, echo: echo.New(),
		work: make(limiter, cfg.Concurrency), waiting: make(limiter, cfg.Concurrency),
		polling: make(limiter, cfg.Concurrency), filters: make(limiter, cfg.Concurrency),
		reports: make(limiter, 8*cfg.Concurrency)}
	s.ending, s.end = context.WithCancel(context.Background())
	s.addMetrics()
	s.conns = newConnections(cfg.Connections, s.closed)
	js, err := jetstream.New(cfg.Conn, jetstream.WithPublishAsyncTimeout(MaxWait))
	if err == nil {
		s.publisher, err = ingest.NewPublisher(js)
	}
	if err != nil {
		return nil, fmt.Errorf("api: %w", err)
	}
	s.echo.HideBanner, s.echo.HidePort = true, true
	s.echo.Logger.SetOutput(io.Discard)
	s.echo.HTTPErrorHandler = s.problemHandler
	s.echo.Use(s.observe, middleware.RecoverWithConfig(middleware.RecoverConfig{DisableStackAll: true,
		DisableErrorHandler: true, LogErrorFunc: s.panicked}), s.ownSite)
	s.routes()
	if pages := cfg.Console; pages != nil {
		pages.Parts, pages.Bound, pages.Ending = cfg.Parts, s.boundPages, s.ending
		err = console.Register(s.echo, *pages)
	}
	return s, err
}

// routes are the routes with the roles that may use them. Exposures have
// theirs in exposure.go.
func (s *Server) routes() {
	s.hot = &hotList{Server: s}
	s.handle(s.waiting, http.MethodPost, "/items", bus.Platform, s.postItem)
	s.handle(s.work, http.MethodPost, "/items/check", bus.Platform|bus.Editor, func(c echo.Context) any {
		body := readBody(c)
		defer must.Get(s.publishers.enter(c, len(body)))()
		return s.check(c.Request().Context(), body)
	})
	s.handle(s.work, http.MethodGet, "/items", bus.Platform|bus.Editor, s.getItem)
	s.handle(s.work, http.MethodGet, "/items/*", bus.Platform|bus.Editor, s.getItem)
	s.handle(s.waiting, http.MethodDelete, "/items", bus.Platform, s.deleteItem)
	s.handle(s.waiting, http.MethodDelete, "/items/*", bus.Platform, s.deleteItem)
	s.register(http.MethodGet, "/verdicts", bus.Platform|bus.Editor, s.boundEvents(s.getVerdicts))
	s.handle(s.work, http.MethodGet, "/clusters", bus.Editor, s.getClusters)
	s.handle(s.work, http.MethodGet, "/clusters/:id", bus.Editor, s.getCluster)
	s.handle(s.work, http.MethodGet, "/stories/:id", bus.Editor, s.getStory)
	s.handle(s.work, http.MethodGet, "/clusters/:id/decisions", bus.Editor, s.getDecisions)
	s.handle(s.work, http.MethodPost, "/clusters/:id/decisions", bus.Editor, s.postDecision)
	s.handle(s.work, http.MethodGet, "/sources/:name/boilerplate", bus.Editor, s.getBoilerplate)
	s.handle(s.work, http.MethodPost, "/sources/:name/boilerplate", bus.Editor, s.postBoilerplate)
	s.handle(s.work, http.MethodGet, "/hot", bus.Recall|bus.Editor, s.hot.get)
	s.handle(s.work, http.MethodGet, "/exemptions", bus.Editor, func(c echo.Context) any {
		return decisions(c, s.cfg.Index.Exemptions)
	})
	s.handle(s.work, http.MethodGet, "/suspects", bus.Editor, s.getSuspects)

	if s.cfg.Exposure != nil {
		exposures{s}.add()
	}

	reads := []string{http.MethodGet, http.MethodHead}
	s.echo.Match(reads, "/healthz", func(c echo.Context) error { // as long as the process answers at all
		return c.JSON(http.StatusOK, map[string]string{"status": "ok", "version": s.cfg.Version})
	})
	s.echo.Match(reads, "/readyz", s.ready)
	s.echo.Match(reads, "/openapi.yaml", func(c echo.Context) error {
		return c.Blob(http.StatusOK, "application/yaml", OpenAPI)
	})
	metrics, profiles := promhttp.HandlerFor(s.cfg.Metrics, promhttp.HandlerOpts{}), http.DefaultServeMux
	s.register(http.MethodGet, "/metrics", bus.Monitor, s.bound(MaxBody, s.work, echo.WrapHandler(metrics)))
	s.register(http.MethodGet, "/debug/pprof/*", 0, // operators only
		s.bound(MaxBody, s.work, echo.WrapHandler(profiles)))

	s.endpoints = append(s.endpoints, endpoint{bus.SubjectCheck, "the verdict an item would get; nothing is stored",
		func(ctx context.Context, data []byte) []byte {
			return must.Get(json.Marshal(s.check(ctx, data)))
		}})
}

// handle registers a route for some roles, and for operators. Those that spend their time waiting for the bus have a
// limiter of their own, and keep no others out.
func (s *Server) handle(l limiter, method, path string, roles bus.Role, h handler) {
	s.register(method, path, roles, s.bound(MaxBody, l, h.serve))
}

// boundEvents is bound for requests that read events. Those that wait for events keep no others out.
func (s *Server) boundEvents(h handler) echo.HandlerFunc {
	working, polling := s.bound(MaxBody, s.work, h.serve), s.bound(MaxBody, s.polling, h.serve)
	return func(c echo.Context) error {
		after, _ := strconv.ParseUint(c.QueryParam("after"), 10, 64) // getVerdicts refuses others
		if c.QueryParam("wait") != "" || s.isAhead(after) {
			return polling(c)
		}
		return working(c)
	}
}

func (s *Server) register(method, path string, roles bus.Role, bounded echo.HandlerFunc) {
	guarded := s.guard(roles|bus.Operator, bounded)
	s.echo.Add(method, path, guarded)
	if method == http.MethodGet {
		s.echo.Add(http.MethodHead, path, guarded)
	}
}

// Serve answers on l and on the bus until ctx is done, lets running requests finish for 15 seconds, and returns nil
// after an orderly end. It is called once.
func (s *Server) Serve(ctx context.Context, l net.Listener) error {
	stop, err := s.serveBus(ctx)
	if err != nil {
		return errors.Join(err, l.Close())
	}
	server := &http.Server{
		Handler:           s.echo,
		ReadHeaderTimeout: 5 * time.Second,
		// Once it has passed, a request's context ends even if its body was
		// read long ago: it must leave room for MaxWait.
		ReadTimeout:    MaxWait + 15*time.Second,
		WriteTimeout:   MaxWait + 30*time.Second,
		IdleTimeout:    2 * time.Minute,
		MaxHeaderBytes: 64 << 10,
		ConnState:      s.conns.state,
		ConnContext: func(ctx context.Context, conn net.Conn) context.Context {
			return context.WithValue(ctx, connectionKey{}, conn)
		},
		ErrorLog: slog.NewLogLogger(s.log.Handler(), slog.LevelDebug),
	}
	failed := make(chan error, 1)
	go func() { failed <- serveOn(server, l, s.cfg.TLS) }()
	s.log.InfoContext(ctx, "listening", "address", l.Addr().String(), "tokens", s.cfg.Tokens.Len())
	select {
	case err := <-failed:
		return errors.Join(fmt.Errorf("api: %s: %w", l.Addr(), err), stop())
	case <-ctx.Done():
	}
	const drain = 15 * time.Second
	limit, cancel := context.WithTimeout(context.WithoutCancel(ctx), drain)
	defer cancel()
	err = stop()
	if shutdown := server.Shutdown(limit); shutdown != nil {
		err = errors.Join(err, fmt.Errorf("api: requests were still running after %v: %w", drain, shutdown),
			server.Close())
	}
	return err
}

// CheckListen refuses to let every client in by accident: an address that is not
// loopback needs tokens (--tokens), or to be asked for explicitly (--insecure).
func CheckListen(addr string, hasTokens, insecure bool) error {
	host, port, err := net.SplitHostPort(addr)
	if err == nil {
		_, err = net.LookupPort("tcp", port)
	}
	if err != nil {
		return fmt.Errorf("%q: want host:port: %w", addr, err)
	}
	if hasTokens || insecure || host == "localhost" || net.ParseIP(host).IsLoopback() {
		return nil
	}
	return fmt.Errorf("%s can be reached from other machines: give --tokens FILE, listen on 127.0.0.1, or let every "+
		"client in with --insecure", addr)
}

func (s *Server) addMetrics() {
	auto := promauto.With(s.cfg.Metrics)
	s.requests = auto.NewCounterVec(prometheus.CounterOpts{Name: "jianguo_http_requests_total",
		Help: "Requests answered."}, []string{"method", "route", "code"})
	s.seconds = auto.NewHistogramVec(prometheus.HistogramOpts{Name: "jianguo_http_seconds",
		Help:    "From a request's headers to the end of its answer.",
		Buckets: prometheus.ExponentialBuckets(0.00025, 2, 18)}, []string{"route"})
	s.services = auto.NewCounterVec(prometheus.CounterOpts{Name: "jianguo_service_requests_total",
		Help: "Requests on the bus answered."}, []string{"subject", "code"})
	s.closed = auto.NewCounterVec(prometheus.CounterOpts{Name: "jianguo_http_connections_closed_total",
		Help: "Connections closed at their bound: old ones that gave way, and new ones."}, []string{"which"})
	for _, which := range []string{"old", "new"} {
		s.closed.WithLabelValues(which)
	}
}
