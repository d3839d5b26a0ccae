// Package console is the editors' pages: what was copied, from what, why, and
// the means to overrule it.
//
// # Contract
//
// Register mounts the pages at / and under /console/ on an Echo. They are
// server-rendered and complete without JavaScript; htmx swaps pages in place,
// and a small script adds keys. Chinese is the first language, English is a
// switch; both stand side by side in the templates, so that they change
// together.
//
// Pages read the catalogue (index.Index) and what follows it (browse.Model);
// every change is a decision (ingest.Service.Edit), a review or a policy of a
// source, under the name of the signed-in editor. If two editors decide about the
// same item, the second sees the decision of the first, which stands.
//
// # Safety
//
// Texts of articles are untrusted. They are shown as text, whatever markup
// they hold, isolated against direction marks, and bounded in length. The
// content security policy allows the console's own files alone: no inline
// script or style, no request to another host. The server never fetches an
// article's address.
//
// Users sign in with a token (Parts.Tokens), which is exchanged for a signed
// cookie (HttpOnly, SameSite, Secure behind https). It ends after 12 hours,
// when the user signs out, or with the token. A request that changes something
// carries a token bound to that cookie. Without tokens everyone enters as editor
// and operator; then the caller must listen on loopback only.
//
// # Limits
//
// A page compares the first 20,000 characters of two texts and says so where
// there are more, lists at most 50 rows, and reads at most 50,000 members of a
// story. The pages and their addresses are for people: they are not an
// interface, except that the links to items and stories stay good.
package console

import (
	"context"
	"crypto/rand"
	"fmt"
	"log/slog"
	"net/http"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/labstack/echo/v4"
	"github.com/nats-io/nats.go"

	"jianguo/api/tokens"
	"jianguo/index"
	"jianguo/index/browse"
	"jianguo/ingest"
	"jianguo/internal/must"
	"jianguo/segment"
)

// Parts are the parts of the service that pages show, and its other clients use.
type Parts struct {
	Index  *index.Index
	Ingest *ingest.Service
	Conn   *nats.Conn
	// Browse is what the lists of clusters and suspects are made of. They follow
	// the events; a moment may pass until they show one.
	Browse *browse.Model
	// Segmenter cuts the words of searches.
	Segmenter *segment.Segmenter
	Tokens    *tokens.Set // nil: everything is open
	Logger    *slog.Logger
	Version   string
	// Ready names the parts, in addition to the bus and Ingest, that must be ready. An
	// error says what a part waits for.
	Ready map[string]func() error
}

// Config configures a console. All but Ready, Tokens, Access, Now and Version is required.
type Config struct {
	Parts
	Dir    string                 // the data directory: a rejudge works there
	Free   func() (uint64, error) // bytes on the disk, for the page of operators
	Access Access                 // users that a proxy lets in

	// Rejudge makes the command that judges what arrived lately again, with more arguments
	// (jianguo rejudge); an error says why it cannot run now.
	Rejudge func(ctx context.Context, arguments ...string) (*exec.Cmd, error)

	Now func() time.Time // nil: time.Now
	// Ending is done when the server shuts down: a rejudge then ends.
	Ending context.Context
	// Bound makes what wraps every page, from a function that reports whether the caller of
	// a request is signed in.
	Bound func(known func(echo.Context) bool) echo.MiddlewareFunc
}

type Console struct {
	cfg      Config
	log      *slog.Logger
	sessions *sessions
	claims   *claims
	rejudge  rejudge
}

func (c *Console) now() time.Time { return c.cfg.Now().In(location) }

func Register(e *echo.Echo, cfg Config) error {
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	looking, err := newClaims(cfg.Conn, cfg.Now)
	if err != nil {
		return fmt.Errorf("console: %w", err)
	}
	if len(cfg.Access.Proxies) == 0 {
		cfg.Access.Proxies = []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8"), netip.MustParsePrefix("::1/128")}
	}
	users := &sessions{Config: cfg, key: []byte(rand.Text())}
	c := &Console{cfg: cfg, log: cfg.Logger, claims: looking, sessions: users}
	// What a service that was killed may have left of a rejudge.
	if err := os.RemoveAll(filepath.Join(cfg.Dir, rejudgeDir)); err != nil {
		return err
	}
	bound, o := cfg.Bound(c.sessions.known), operations{c}
	e.Match([]string{http.MethodGet, http.MethodHead}, "/console/assets/:hash/:name", serveAsset)
	for _, r := range []struct {
		method, path string
		role         string // of its users; empty: it needs no sign-in
		handler      handler
	}{
		{"GET", "/console/signin", "", c.signInPage},
		{"POST", "/console/signin", "", c.signIn},
		{"POST", "/console/signout", roleEditor, c.signOut},
		{"GET", "/", roleEditor, c.overview},
		{"GET", "/console/search", roleEditor, c.search},
		{"POST", "/console/search", roleEditor, c.search},
		{"GET", "/console/item", roleEditor, c.item},
		{"GET", "/console/compare", roleEditor, c.compare},
		{"GET", "/console/into", roleEditor, c.into},
		{"GET", "/console/clusters", roleEditor, c.clusters},
		{"GET", "/console/cluster", roleEditor, c.cluster},
		{"GET", "/console/story", roleEditor, c.story},
		{"GET", "/console/suspects", roleEditor, c.suspects},
		{"GET", "/console/review", roleEditor, c.review},
		{"POST", "/console/review", roleEditor, c.confirm},
		{"GET", "/console/sources", roleEditor, c.sources},
		{"POST", "/console/sources", roleEditor, c.setPolicy},
		{"GET", "/console/source", roleEditor, c.source},
		{"POST", "/console/source", roleEditor, c.decideBoilerplate},
		{"GET", "/console/decisions", roleEditor, c.decisions},
		{"POST", "/console/decide", roleEditor, c.decide},
		{"GET", "/console/labels.tsv", roleEditor, c.labelsTSV},
		{"GET", "/console/operators", roleOperator, o.operators},
		{"GET", "/console/rejudge", roleOperator, o.rejudgePage},
		{"POST", "/console/rejudge", roleOperator, o.startRejudge},
		{"GET", "/console/dead", roleOperator, o.dead},
		{"POST", "/console/dead", roleOperator, o.replay},
		{"GET", "/console/*", roleEditor, c.notFound},
	} {
		page := c.handle(r.role, r.handler)
		if e.Add(r.method, r.path, page, bound); r.method == http.MethodGet {
			e.Add(http.MethodHead, r.path, page, bound)
		}
	}
	return nil
}

func (c *Console) notFound(_ context.Context, p *page) string {
	must.Do(p.fail(http.StatusNotFound, p.T("没有这一页。", "There is no such page.")))
	return ""
}

// handle wraps a handler: it checks the user and, if something changes, the form.
func (c *Console) handle(role string, h handler) echo.HandlerFunc {
	return func(e echo.Context) error {
		changes := e.Request().Method == http.MethodPost
		if changes {
			// A form is a few fields, or a text that was pasted: three bytes for each of its own.
			e.Request().Body = http.MaxBytesReader(e.Response(), e.Request().Body, 3*ingest.MaxText+1<<16)
		}
		s, ok := c.sessions.userOf(e)
		if role != "" && !ok {
			return c.sessions.toSignIn(e)
		}
		p := c.newPage(e, s)
		if changes {
			if err := e.Request().ParseForm(); err != nil {
				return p.fail(http.StatusBadRequest, p.T("表单无法读取。", "The form could not be read."))
			}
			if !c.sessions.formIsOurs(e, s) {
				return p.fail(http.StatusForbidden,
					p.T("页面已过期，请返回刷新后再试。", "This page is out of date: go back, reload it and try again."))
			}
		}
		if role == roleOperator && s.Role != roleOperator {
			return p.fail(http.StatusForbidden, p.T("这一页只给运维人员。", "This page is for operators."))
		}
		next, err := must.Try(func() string {
			if role != "" && !changes {
				p.notices(e.Request().Context())
			}
			return h(e.Request().Context(), p)
		})
		switch {
		case err != nil:
			return p.error(err)
		case next == "":
			return nil // the handler has answered itself
		case strings.HasPrefix(next, "/"):
			return e.Redirect(http.StatusSeeOther, next)
		}
		return p.write(http.StatusOK, next)
	}
}
