package console

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"time"

	"github.com/labstack/echo/v4"
	"github.com/nats-io/nats.go"

	"jianguo/api/tokens"
	"jianguo/index"
	"jianguo/index/browse"
	"jianguo/ingest"
	"jianguo/segment"
)

// Roles of a signed-in user.
const (
	RoleEditor   = "editor"   // reads and decides
	RoleOperator = "operator" // that, and the operators' page
)

// Config configures a console. Index, Browse and Segmenter are required.
type Config struct {
	Index     *index.Index
	Browse    *browse.Model
	Segmenter *segment.Segmenter
	Ingest    *ingest.Service // nil: the operators' page does not say whether it runs
	Conn      *nats.Conn      // nil: no dead letters, no lag
	Dir       string          // the data directory, for the sizes of its files
	Own       []string        // our own sources: the first page shows who copies them

	Tokens *tokens.Set // nil: there are no tokens, and everyone may enter
	// Header, if set, names the header in which a proxy gives the name of the
	// user, RoleHeader the header of their role: without a role the user is an
	// editor, with an unknown role they may not enter. Both headers, and
	// X-Forwarded-Proto, are trusted only in requests from Proxies (default: loopback).
	// A header that is repeated is not trusted: one of the two is not the proxy's.
	Header, RoleHeader string
	Proxies            []netip.Prefix

	// Rejudge makes the command that judges what arrived lately again, with more arguments
	// (jianguo rejudge); exec.ErrNotFound: it is not installed. nil: it is not, either.
	Rejudge func(ctx context.Context, arguments ...string) (*exec.Cmd, error)

	Now     func() time.Time // nil: time.Now
	Logger  *slog.Logger
	Version string
	// Done, if set, is closed when the server shuts down: streams of live counters
	// then end.
	Done <-chan struct{}
	// Bound makes what wraps every page except the live counters, from a function that
	// reports whether the caller of a request is signed in; nil: nothing.
	Bound func(known func(echo.Context) bool) echo.MiddlewareFunc
}

// Console serves the pages.
type Console struct {
	cfg      Config
	log      *slog.Logger
	words    *cutter
	assets   assets
	ended    ended // signed-out sessions
	samples  samples
	rejudges rejudges
	key      []byte // signs cookies: a restart ends all sessions
}

// newConsole returns a Console with the defaults filled in.
func newConsole(cfg Config) (*Console, error) {
	if cfg.Index == nil || cfg.Browse == nil || cfg.Segmenter == nil {
		return nil, errors.New("console: Index, Browse and Segmenter are required")
	}
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	if cfg.Logger == nil {
		cfg.Logger = slog.New(slog.DiscardHandler)
	}
	if len(cfg.Proxies) == 0 {
		cfg.Proxies = []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8"), netip.MustParsePrefix("::1/128")}
	}
	files, err := loadAssets()
	if cfg.Rejudge != nil { // a service that was killed may have left it
		err = errors.Join(err, os.RemoveAll(filepath.Join(cfg.Dir, rejudgeDir)))
	}
	if err != nil {
		return nil, fmt.Errorf("console: %w", err)
	}
	c := &Console{cfg: cfg, log: cfg.Logger, words: newCutter(cfg.Segmenter), assets: files, key: make([]byte, 32)}
	_, _ = rand.Read(c.key) // does not fail
	return c, nil
}

// location is where the editors are.
var location = time.FixedZone("UTC+8", 8*3600)

func (c *Console) now() time.Time { return c.cfg.Now().In(location) }
