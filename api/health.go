package api

import (
	_ "embed"
	"errors"
	"maps"
	"net/http"

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

// ready says whether every part does its work.
func (s *Server) ready(c echo.Context) error {
	parts := map[string]func() error{"server": s.serverReady, "bus": s.busReady, "ingest": s.cfg.Ingest.Ready}
	maps.Copy(parts, s.cfg.Ready)
	r := readiness{Ready: true, Parts: map[string]string{}}
	status := http.StatusOK
	for name, f := range parts {
		r.Parts[name] = "ok"
		if err := f(); err != nil {
			r.Ready, r.Parts[name], status = false, err.Error(), http.StatusServiceUnavailable
		}
	}
	return c.JSON(status, r)
}

// serverReady tells load balancers to look elsewhere before the end.
func (s *Server) serverReady() error {
	select {
	case <-s.draining:
		return errors.New("shutting down")
	default:
		return nil
	}
}
