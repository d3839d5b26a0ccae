package api

import (
	"context"
	"crypto/tls"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net"
	"net/http"
	"sync/atomic"
	"time"

	"github.com/labstack/echo/v4"
)

// OpenAPI is the description of the HTTP side.
//
//go:embed openapi.yaml
var OpenAPI []byte

// readiness is the answer of /readyz.
type readiness struct {
	Ready bool `json:"ready"`
	// Parts says of each part "ok", or what stands in its way.
	Parts map[string]string `json:"parts"`
}

func (s *Server) ready(c echo.Context) error {
	asked := map[string]func() error{"bus": s.busReady, "ingest": s.cfg.Ingest.Ready}
	maps.Copy(asked, s.cfg.Ready)
	r, status := readiness{Ready: true, Parts: map[string]string{"server": "ok"}}, http.StatusOK
	if s.ending.Err() != nil { // load balancers are to look elsewhere before the end
		r.Ready, r.Parts["server"], status = false, "shutting down", http.StatusServiceUnavailable
	}
	for name, f := range asked {
		r.Parts[name] = "ok"
		if err := f(); err != nil {
			r.Ready, r.Parts[name], status = false, err.Error(), http.StatusServiceUnavailable
		}
	}
	// A change is logged: a load balancer asks every second.
	parts := fmt.Sprint(r.Parts)
	if before := s.parts.Swap(&parts); !r.Ready && (before == nil || *before != parts) {
		s.log.WarnContext(c.Request().Context(), "not ready", "parts", r.Parts)
	}
	return c.JSON(status, r)
}

// Starting answers on a listener while the service behind it still opens, which
// for a large catalogue takes seconds: /healthz is alive, /readyz says how far
// it has come, and everything else is 503 with Retry-After. No client waits
// without an answer.
type Starting struct {
	version  string
	listener lent
	server   *http.Server
	served   chan error // one value, when server has ended
	stage    atomic.Pointer[string]
}

// lent is a listener that is given back open: Close only ends a waiting Accept.
type lent struct{ *net.TCPListener }

func (l lent) Close() error { return l.SetDeadline(time.Unix(1, 0)) }

// Start answers on l until End, with TLS where there is a configuration of it.
func Start(l *net.TCPListener, secure *tls.Config, version string) *Starting {
	s := &Starting{version: version, listener: lent{l}, served: make(chan error, 1)}
	s.stage.Store(new("starting"))
	s.server = &http.Server{Handler: s, ReadHeaderTimeout: 5 * time.Second, ReadTimeout: 10 * time.Second,
		WriteTimeout: 10 * time.Second, MaxHeaderBytes: 64 << 10}
	go func() { s.served <- serveOn(s.server, s.listener, secure) }()
	return s
}

func (s *Starting) Progress(stage string, done, total int64) {
	s.stage.Store(new(fmt.Sprintf("starting: loading %s, %d of %d", stage, done, total)))
}

func (s *Starting) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	h := w.Header()
	h.Set("Connection", "close") // the next request is for the service itself
	h.Set("Content-Type", "application/json")
	status, stage := http.StatusServiceUnavailable, *s.stage.Load()
	var body any
	switch r.URL.Path {
	case "/healthz":
		status, body = http.StatusOK, map[string]string{"status": "ok", "version": s.version}
	case "/readyz":
		body = readiness{Parts: map[string]string{"start": stage}}
	default:
		h.Set("Content-Type", problemType)
		body = NewProblem(status, "", "the service is "+stage)
	}
	if status != http.StatusOK {
		h.Set("Retry-After", "1")
	}
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(body) // an error means that the client has gone
}

// End answers the running requests and keeps the listener open for the service.
func (s *Starting) End() error {
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Second)
	defer cancel()
	if err := s.server.Shutdown(ctx); err != nil {
		_ = s.server.Close() // the service does not wait for slow clients
	}
	if err := <-s.served; !errors.Is(err, http.ErrServerClosed) {
		return fmt.Errorf("while starting: %w", err)
	}
	return s.listener.SetDeadline(time.Time{})
}

// serveOn serves with TLS where there is a configuration of it. Requests come over HTTP/1.1:
// connections are bounded, and one of HTTP/2 would carry many requests.
func serveOn(server *http.Server, l net.Listener, secure *tls.Config) error {
	if secure == nil {
		return server.Serve(l)
	}
	server.TLSConfig, server.Protocols = secure, new(http.Protocols)
	server.Protocols.SetHTTP1(true)
	return server.ServeTLS(l, "", "")
}
