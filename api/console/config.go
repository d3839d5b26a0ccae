package console

import (
	"context"
	"log/slog"
	"os/exec"
	"time"

	"github.com/labstack/echo/v4"
	"github.com/nats-io/nats.go"

	"jianguo/index"
	"jianguo/index/browse"
	"jianguo/ingest"
	"jianguo/segment"
)

// Config configures a console. All but Ready, Access, Now and Version is required.
type Config struct {
	Index     *index.Index
	Browse    *browse.Model
	Segmenter *segment.Segmenter
	Ingest    *ingest.Service
	Conn      *nats.Conn
	Dir       string // the data directory: a rejudge works there
	// Ready names the parts that must be ready, and Free returns the bytes that are free on the disk:
	// the operators' page shows both.
	Ready map[string]func() error
	Free  func() (uint64, error)

	Access Access // who may enter

	// Rejudge makes the command that judges what arrived lately again, with more arguments
	// (jianguo rejudge); an error says why it cannot run now.
	Rejudge func(ctx context.Context, arguments ...string) (*exec.Cmd, error)

	Now     func() time.Time // nil: time.Now
	Logger  *slog.Logger
	Version string
	// Ending is done when the server shuts down: a rejudge then ends.
	Ending context.Context
	// Bound makes what wraps every page, from a function that reports whether the caller of
	// a request is signed in.
	Bound func(known func(echo.Context) bool) echo.MiddlewareFunc
}

// Console serves the pages.
type Console struct {
	cfg      Config
	log      *slog.Logger
	sessions *sessions
	claims   *claims
	rejudge  rejudge
}

func (c *Console) now() time.Time { return c.cfg.Now().In(location) }
