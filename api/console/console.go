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
// every change is a decision (index.Index.Decide), a review or a policy of a
// source, under the name of the signed-in editor. If two editors decide about the
// same item, the second sees who decided what, and the first decision stands.
//
// # Safety
//
// Texts of articles are untrusted. They are shown as text, whatever markup
// they hold, isolated against direction marks, and bounded in length. The
// content security policy allows the console's own files alone: no inline
// script or style, no request to another host. The server never fetches an
// article's address.
//
// The caller authenticates users (Config.Authenticate): a token is
// exchanged for a signed cookie (HttpOnly, SameSite) that ends after
// Config.Session; a request that changes something carries a token bound to
// that cookie. Without Authenticate everyone enters as editor and operator; then
// the caller must listen on loopback only.
//
// # Limits
//
// A page compares the first 20,000 characters of two texts and says so where
// there are more, lists at most 100 rows, and reads at most 50,000 members of a
// story. The pages and their addresses are for people: they are not an
// interface, except that the links to items and stories stay good.
package console

import (
	"bytes"
	"context"
	"crypto/rand"
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"net/http"
	"net/netip"
	"path"
	"strings"
	"time"

	"github.com/labstack/echo/v4"
	"github.com/nats-io/nats.go"
	"github.com/zeebo/xxh3"

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

	// Authenticate says whose token it is and what their role is; nil: there
	// are no tokens, and everyone may enter.
	Authenticate func(token string) (name, role string, ok bool)
	// Header, if set, names the header in which a proxy gives the name of the
	// user, RoleHeader the header of their role: without a role the user is an
	// editor, with an unknown role they may not enter. Both headers are trusted only
	// in requests from Proxies (default: loopback). A header that is repeated is not
	// trusted: one of the two is not the proxy's.
	Header, RoleHeader string
	Proxies            []netip.Prefix

	Key      []byte        // signs cookies; nil: a random one, so that a restart ends all sessions
	Session  time.Duration // of a sign-in; 0: 12 h
	Location *time.Location
	Now      func() time.Time // nil: time.Now
	Logger   *slog.Logger
	Version  string
	// Done, if set, is closed when the server shuts down: streams of live counters
	// then end.
	Done <-chan struct{}
	// Bound makes what wraps every page except the live counters, from a function that
	// reports whether the caller of a request is signed in; nil: nothing.
	Bound func(known func(echo.Context) bool) echo.MiddlewareFunc
}

//go:embed assets/console.css assets/console.js assets/icon.svg assets/vendor/htmx.min.js.gz
var assetFiles embed.FS

// Console serves the pages.
type Console struct {
	cfg    Config
	log    *slog.Logger
	words  *cutter
	assets map[string]asset
	hash   string // of all assets: part of their addresses
}

type asset struct {
	kind string
	data []byte
	gzip bool
}

// Register mounts the console on e.
func Register(e *echo.Echo, cfg Config) error {
	if cfg.Index == nil || cfg.Browse == nil || cfg.Segmenter == nil {
		return errors.New("console: Index, Browse and Segmenter are required")
	}
	if cfg.Key == nil {
		cfg.Key = make([]byte, 32)
		if _, err := rand.Read(cfg.Key); err != nil {
			return fmt.Errorf("console: %w", err)
		}
	}
	if cfg.Session == 0 {
		cfg.Session = 12 * time.Hour
	}
	if cfg.Location == nil {
		cfg.Location = time.FixedZone("UTC+8", 8*3600)
	}
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	if cfg.Logger == nil {
		cfg.Logger = slog.New(slog.DiscardHandler)
	}
	if cfg.Header != "" && len(cfg.Proxies) == 0 {
		cfg.Proxies = []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8"), netip.MustParsePrefix("::1/128")}
	}
	c := &Console{cfg: cfg, log: cfg.Logger, words: newCutter(cfg.Segmenter)}
	if err := c.loadAssets(); err != nil {
		return fmt.Errorf("console: %w", err)
	}
	c.routes(e)
	return nil
}

func (c *Console) routes(e *echo.Echo) {
	bound := func(next echo.HandlerFunc) echo.HandlerFunc { return next }
	if c.cfg.Bound != nil {
		bound = c.cfg.Bound(c.known)
	}
	e.GET("/console/assets/:hash/:name", c.asset)
	e.GET("/console/signin", c.page(anyone, c.signInPage), bound)
	e.POST("/console/signin", c.post(anyone, c.signIn), bound)
	e.POST("/console/signout", c.post(reader, c.signOut), bound)
	e.GET("/console/live", c.live)
	for path, h := range map[string]handler{
		"/":                  c.overview,
		"/console/search":    c.search,
		"/console/item":      c.item,
		"/console/compare":   c.compare,
		"/console/clusters":  c.clusters,
		"/console/cluster":   c.cluster,
		"/console/suspects":  c.suspects,
		"/console/review":    c.review,
		"/console/sources":   c.sources,
		"/console/decisions": c.decisions,
	} {
		e.GET(path, c.page(reader, h), bound)
	}
	e.GET("/console/cluster.csv", c.file(c.clusterCSV), bound)
	e.GET("/console/labels.tsv", c.file(c.labelsTSV), bound)
	e.GET("/console/operators", c.page(operator, c.operators), bound)
	e.GET("/console/dead", c.page(operator, c.dead), bound)
	e.POST("/console/dead", c.post(operator, c.replay), bound)
	e.POST("/console/decide", c.post(reader, c.decide), bound)
	e.POST("/console/review", c.post(reader, c.confirm), bound)
	e.POST("/console/sources", c.post(reader, c.setPolicy), bound)
}

// loadAssets reads the embedded files and names them by their content, so that
// browsers cache them without asking again.
func (c *Console) loadAssets() error {
	c.assets = map[string]asset{}
	h := xxh3.New()
	err := fs.WalkDir(assetFiles, "assets", func(p string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		b, err := assetFiles.ReadFile(p)
		if err != nil {
			return err
		}
		name, zipped := strings.CutSuffix(path.Base(p), ".gz")
		kinds := map[string]string{".css": "text/css; charset=utf-8", ".js": "text/javascript; charset=utf-8", ".svg": "image/svg+xml"}
		if kind := kinds[path.Ext(name)]; kind != "" {
			c.assets[name] = asset{kind: kind, data: b, gzip: zipped}
			_, err = h.Write(b)
		}
		return err
	})
	c.hash = fmt.Sprintf("%016x", h.Sum64())
	return err
}

func (c *Console) asset(e echo.Context) error {
	a, ok := c.assets[e.Param("name")]
	if !ok {
		return echo.ErrNotFound
	}
	h := e.Response().Header()
	h.Set(echo.HeaderCacheControl, "public, max-age=31536000, immutable")
	h.Set(echo.HeaderXContentTypeOptions, "nosniff")
	if a.gzip {
		h.Set(echo.HeaderContentEncoding, "gzip")
	}
	return e.Blob(http.StatusOK, a.kind, a.data)
}

func (c *Console) now() time.Time { return c.cfg.Now().In(c.cfg.Location) }

// A handler fills in a page; the template of that name shows it.
type handler func(ctx context.Context, p *page) (template string, err error)

// access is the permission that a route needs.
type access int

const (
	anyone access = iota // needs no sign-in
	reader
	operator
)

// policy is the content security policy: the console's own files and no others.
const policy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"

// page wraps a handler that only reads.
func (c *Console) page(a access, h handler) echo.HandlerFunc {
	return func(e echo.Context) error {
		s, ok := c.session(e)
		if a != anyone && !ok {
			return c.toSignIn(e)
		}
		p := c.newPage(e, s)
		if a == operator && s.Role != RoleOperator {
			return p.fail(http.StatusForbidden, p.T("这一页只给运维人员。", "This page is for operators."))
		}
		name, err := h(e.Request().Context(), p)
		if err != nil {
			return p.error(err)
		}
		if name == "" {
			return nil // the handler has answered itself
		}
		return p.write(http.StatusOK, name)
	}
}

// file wraps a handler that answers with something to download.
func (c *Console) file(h func(ctx context.Context, p *page) error) echo.HandlerFunc {
	return c.page(reader, func(ctx context.Context, p *page) (string, error) { return "", h(ctx, p) })
}

// post wraps a handler that changes something; it returns where to go next.
func (c *Console) post(a access, h func(ctx context.Context, p *page) (to string, err error)) echo.HandlerFunc {
	return func(e echo.Context) error {
		// A form is a few fields; decisions about many items a few kilobytes.
		e.Request().Body = http.MaxBytesReader(e.Response(), e.Request().Body, 1<<20)
		s, ok := c.session(e)
		if a != anyone && !ok {
			return c.toSignIn(e)
		}
		p := c.newPage(e, s)
		if err := e.Request().ParseForm(); err != nil {
			return p.fail(http.StatusBadRequest, p.T("表单无法读取。", "The form could not be read."))
		}
		if !c.formIsOurs(e, s) {
			return p.fail(http.StatusForbidden, p.T("页面已过期，请返回刷新后再试。", "This page is out of date: go back, reload it and try again."))
		}
		if a == operator && s.Role != RoleOperator {
			return p.fail(http.StatusForbidden, p.T("这一操作只给运维人员。", "This is for operators."))
		}
		to, err := h(e.Request().Context(), p)
		if err != nil {
			return p.error(err)
		}
		if to == "" {
			return nil
		}
		return e.Redirect(http.StatusSeeOther, to)
	}
}

// write renders a whole page before it sends the first byte.
func (p *page) write(status int, name string) error {
	var body, whole bytes.Buffer
	if err := templates.ExecuteTemplate(&body, name, p); err != nil {
		return fmt.Errorf("console: %s: %w", name, err)
	}
	p.Body = trusted(body.String())
	if err := templates.ExecuteTemplate(&whole, "layout", p); err != nil {
		return fmt.Errorf("console: layout of %s: %w", name, err)
	}
	h := p.e.Response().Header()
	h.Set(echo.HeaderContentSecurityPolicy, policy)
	h.Set(echo.HeaderReferrerPolicy, "same-origin")
	h.Set(echo.HeaderXContentTypeOptions, "nosniff")
	h.Set(echo.HeaderCacheControl, "no-store")
	return p.e.HTMLBlob(status, whole.Bytes())
}

// fail shows a sentence instead of a page.
func (p *page) fail(status int, sentence string) error {
	p.Title, p.Problem = p.T("未能完成", "Not done"), sentence
	return p.write(status, "problem")
}

// error shows what an error means to an editor.
func (p *page) error(err error) error {
	switch {
	case errors.Is(err, index.ErrNotFound):
		return p.fail(http.StatusNotFound, p.T("没有找到这一条。它可能还没有到达，或地址有误。", "There is no such thing here. It may not have arrived yet, or the address is wrong."))
	case errors.Is(err, index.ErrQuery):
		return p.fail(http.StatusBadRequest, p.T("请求有误：", "The request is wrong: ")+err.Error())
	case errors.Is(err, index.ErrClosed), errors.Is(err, context.Canceled):
		return p.fail(http.StatusServiceUnavailable, p.T("服务正在停止，请稍后再试。", "The service is shutting down: try again in a moment."))
	}
	p.c.log.ErrorContext(p.e.Request().Context(), "console", "path", p.e.Request().URL.Path, "error", err)
	return p.fail(http.StatusInternalServerError, p.T("出错了，原因已写入服务日志。", "Something went wrong here; the service's log says what."))
}
