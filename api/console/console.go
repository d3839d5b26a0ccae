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
// every change is a decision (ingest.Service.Decide), a review or a policy of a
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
// Users sign in with a token (Config.Tokens), which is exchanged for a signed
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
	"net/http"
	"os"
	"path/filepath"
	"strings"

	"github.com/labstack/echo/v4"

	"jianguo/ingest"
	"jianguo/internal/must"
)

// access is the permission that a route needs.
type access int

const (
	anyone access = iota // needs no sign-in
	reader
	operator
)

// Register mounts the console on e.
func Register(e *echo.Echo, cfg Config) error {
	c, err := newConsole(cfg)
	if err != nil {
		return err
	}
	// What a service that was killed may have left of a rejudge.
	if err := os.RemoveAll(filepath.Join(cfg.Dir, rejudgeDir)); err != nil {
		return err
	}
	bound, o := cfg.Bound(c.sessions.Known), operations{c, &rejudges{Console: c}}
	e.GET("/console/assets/:hash/:name", serveAsset)
	for _, r := range []struct {
		method, path string
		access       access
		handler      handler
	}{
		{"GET", "/console/signin", anyone, c.signInPage},
		{"POST", "/console/signin", anyone, c.signIn},
		{"POST", "/console/signout", reader, c.signOut},
		{"GET", "/", reader, c.overview},
		{"GET", "/console/search", reader, c.search},
		{"POST", "/console/search", reader, c.search},
		{"GET", "/console/item", reader, c.item},
		{"GET", "/console/compare", reader, c.compare},
		{"GET", "/console/into", reader, c.into},
		{"GET", "/console/clusters", reader, c.clusters},
		{"GET", "/console/cluster", reader, c.cluster},
		{"GET", "/console/story", reader, c.story},
		{"GET", "/console/suspects", reader, c.suspects},
		{"GET", "/console/review", reader, c.review},
		{"POST", "/console/review", reader, c.confirm},
		{"GET", "/console/sources", reader, c.sources},
		{"POST", "/console/sources", reader, c.setPolicy},
		{"GET", "/console/source", reader, c.source},
		{"POST", "/console/source", reader, c.decideBoilerplate},
		{"GET", "/console/decisions", reader, c.decisions},
		{"POST", "/console/decide", reader, c.decide},
		{"GET", "/console/labels.tsv", reader, c.labelsTSV},
		{"GET", "/console/operators", operator, o.operators},
		{"GET", "/console/rejudge", operator, o.rejudges.page},
		{"POST", "/console/rejudge", operator, o.rejudges.start},
		{"GET", "/console/dead", operator, o.dead},
		{"POST", "/console/dead", operator, o.replay},
		{"GET", "/console/*", reader, c.nowhere},
	} {
		e.Add(r.method, r.path, c.handle(r.access, r.handler), bound)
	}
	return nil
}

// nowhere answers an address that no page has.
func (c *Console) nowhere(_ context.Context, p *page) string {
	must.Do(p.fail(http.StatusNotFound, p.T("没有这一页。", "There is no such page.")))
	return ""
}

// handle wraps a handler: it checks the user and, if something changes, the form.
func (c *Console) handle(a access, h handler) echo.HandlerFunc {
	return func(e echo.Context) error {
		changes := e.Request().Method == http.MethodPost
		if changes {
			// A form is a few fields, or a text that was pasted: three bytes for each of its own.
			e.Request().Body = http.MaxBytesReader(e.Response(), e.Request().Body, 3*ingest.MaxText+1<<16)
		}
		s, ok := c.sessions.Of(e)
		if a != anyone && !ok {
			return c.sessions.ToSignIn(e)
		}
		p := c.newPage(e, s)
		if changes {
			if err := e.Request().ParseForm(); err != nil {
				return p.fail(http.StatusBadRequest, p.T("表单无法读取。", "The form could not be read."))
			}
			if !c.sessions.FormIsOurs(e, s) {
				return p.fail(http.StatusForbidden,
					p.T("页面已过期，请返回刷新后再试。", "This page is out of date: go back, reload it and try again."))
			}
		}
		if a == operator && s.Role != roleOperator {
			return p.fail(http.StatusForbidden, p.T("这一页只给运维人员。", "This page is for operators."))
		}
		next, err := must.Try(func() string {
			if a != anyone && !changes {
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
