package console

import (
	"cmp"
	"context"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"net/http"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/labstack/echo/v4"

	"jianguo/api/tokens"
	"jianguo/bus"
	"jianguo/internal/must"
)

const cookieName = "jianguo_session"

const sessionLength = 12 * time.Hour

const (
	roleEditor   = "editor"   // reads and decides
	roleOperator = "operator" // that, and the operators' page
)

// Access says which users a proxy in front of the console lets in.
type Access struct {
	// Header, if set, which needs tokens, names the header in which a proxy gives the name of the
	// user, RoleHeader the header of their role: without a role the user is an
	// editor, with an unknown role they may not enter. Both headers, and
	// X-Forwarded-Proto, are trusted only in requests from Proxies (default: loopback).
	// A header that is repeated is not trusted: one of the two is not the proxy's.
	Header, RoleHeader string
	Proxies            []netip.Prefix
}

type sessions struct {
	Config
	key   []byte   // signs cookies: a restart ends all sessions
	ended sync.Map // salts of sessions that were signed out, with the time at which each would have ended by itself
}

// session is the signed-in user. It is the content of the cookie; the server stores
// only which ones were signed out.
type session struct {
	Name string `json:"n"`
	Role string `json:"r"`
	End  int64  `json:"e"` // seconds since 1970
	Salt string `json:"s"`
	// Line is that of the token that the user signed in with.
	Line string `json:"t,omitempty"`
}

func (c *sessions) sign(what string, data []byte) []byte {
	h := hmac.New(sha256.New, c.key)
	h.Write([]byte(what))
	h.Write(data)
	return h.Sum(nil)
}

// signedIn returns the user of a request that is signed in.
func (c *sessions) signedIn(r *http.Request) (session, bool) {
	if s, ok := c.proxied(r); ok {
		return s, true
	}
	return c.readCookie(r)
}

// userOf returns the user of a request; false: not signed in.
func (c *sessions) userOf(e echo.Context) (session, bool) {
	switch s, ok := c.signedIn(e.Request()); {
	case ok:
		return s, true
	case c.needNoSignIn():
		return c.begin(e, "editor", roleOperator, ""), true
	}
	return session{}, false // the sign-in page names no user whose session has ended
}

func (c *sessions) needNoSignIn() bool { return c.Tokens == nil }

// known reports whether the user of a request is signed in, or need not be.
func (c *sessions) known(e echo.Context) bool {
	_, ok := c.signedIn(e.Request())
	return ok || c.needNoSignIn()
}

// proxied returns the user that a trusted proxy names.
func (c *sessions) proxied(r *http.Request) (session, bool) {
	if c.Access.Header == "" || !c.fromProxy(r) {
		return session{}, false
	}
	name, one := singleHeader(r.Header, c.Access.Header)
	role, ok := singleHeader(r.Header, c.Access.RoleHeader) // none where no header has it
	role = cmp.Or(role, roleEditor)
	if !one || !ok || name == "" || role != roleEditor && role != roleOperator {
		return session{}, false
	}
	return session{Name: name, Role: role, Salt: "proxy " + name}, true
}

func (c *sessions) fromProxy(r *http.Request) bool {
	from, err := netip.ParseAddrPort(r.RemoteAddr)
	return err == nil && slices.ContainsFunc(c.Access.Proxies,
		func(p netip.Prefix) bool { return p.Contains(from.Addr().Unmap().WithZone("")) })
}

// maxProxyName bounds a name that a proxy gives, in bytes.
const maxProxyName = 200

// singleHeader is the value of a header, empty if it is missing; false if it is repeated,
// or has characters that a log cannot show.
func singleHeader(h http.Header, key string) (string, bool) {
	values := h.Values(key)
	if len(values) > 1 {
		return "", false
	}
	value := strings.TrimSpace(strings.Join(values, ""))
	ok := len(value) <= maxProxyName && utf8.ValidString(value) &&
		!strings.ContainsFunc(value, func(r rune) bool { return !unicode.IsPrint(r) })
	return value, ok
}

func (c *sessions) readCookie(r *http.Request) (s session, ok bool) {
	cookie, err := r.Cookie(cookieName)
	if err != nil {
		return s, false
	}
	content, mac, _ := strings.Cut(cookie.Value, ".")
	sum, err := base64.RawURLEncoding.DecodeString(mac)
	if err != nil || !hmac.Equal(sum, c.sign("session", []byte(content))) {
		return s, false
	}
	raw, err := base64.RawURLEncoding.DecodeString(content)
	if err != nil || json.Unmarshal(raw, &s) != nil {
		return s, false
	}
	_, ended := c.ended.Load(s.Salt)
	return s, c.Now().Unix() < s.End && !ended && (c.Tokens == nil || c.Tokens.HasLine(s.Line))
}

// begin signs a user in, with the line of the token, if one was used.
func (c *sessions) begin(e echo.Context, name, role, line string) session {
	s := session{Name: name, Role: role, Line: line, End: c.Now().Add(sessionLength).Unix(), Salt: rand.Text()}
	raw, _ := json.Marshal(s) // strings and a number: no error
	content := base64.RawURLEncoding.EncodeToString(raw)
	cookie := &http.Cookie{Name: cookieName, Value: content + "." +
		base64.RawURLEncoding.EncodeToString(c.sign("session", []byte(content))),
		Path: "/", HttpOnly: true, Secure: c.overTLS(e.Request()), SameSite: http.SameSiteLaxMode,
		Expires: time.Now().Add(sessionLength)}
	e.SetCookie(cookie)
	// The answer to this request belongs to the new session too.
	e.Request().AddCookie(cookie)
	return s
}

// end signs a user out, on the server too: a copy of the cookie is worth nothing.
func (c *sessions) end(e echo.Context, s session) {
	now := c.Now().Unix()
	c.ended.Range(func(salt, end any) bool {
		if end.(int64) < now {
			c.ended.Delete(salt)
		}
		return true
	})
	c.ended.Store(s.Salt, s.End)
	e.SetCookie(&http.Cookie{Name: cookieName, Path: "/", HttpOnly: true, MaxAge: -1})
}

// overTLS reports whether the browser speaks https, with this service or with its proxy.
func (c *sessions) overTLS(r *http.Request) bool {
	return r.TLS != nil || c.fromProxy(r) && strings.EqualFold(r.Header.Get(echo.HeaderXForwardedProto), "https")
}

func (c *sessions) formToken(s session) string {
	return base64.RawURLEncoding.EncodeToString(c.sign("form", []byte(s.Salt)))
}

// formIsOurs reports whether a form came from a page of the same session. The sign-in form has no session; that no
// other site sends it is checked for all requests, by the browser's headers.
func (c *sessions) formIsOurs(e echo.Context, s session) bool {
	return s.Salt == "" || hmac.Equal([]byte(e.FormValue("form")), []byte(c.formToken(s)))
}

// toSignIn sends the user to the sign-in page, which leads back to this one. What
// a form asked for is not done, since the user is unknown.
func (c *sessions) toSignIn(e echo.Context) error {
	r, ended, to := e.Request(), "", e.Request().URL.RequestURI()
	if _, err := e.Cookie(cookieName); err == nil || r.Method == http.MethodPost {
		ended = r.Method
	}
	if r.Method == http.MethodPost {
		to = r.PostFormValue("to")
	}
	return e.Redirect(http.StatusSeeOther, address("/console/signin", "to", to, "ended", ended))
}

func (c *Console) signInPage(_ context.Context, p *page) string {
	switch p.e.QueryParam("ended") {
	case http.MethodGet:
		p.Problem = p.T("登录已过期，请重新登录。", "Your sign-in has ended: sign in again.")
	case http.MethodPost:
		p.Problem = p.T("登录已过期，刚才的操作没有执行。重新登录后会回到原处。",
			"Your sign-in has ended, and what you asked for was not done. Once signed in, you are back where you were.")
	}
	return p.show("signin", "", "登录", "Sign in", nil)
}

func (c *Console) signIn(_ context.Context, p *page) string {
	to := ownAddress(p.e.FormValue("to"))
	if p.NeedsNoSignIn() {
		return to
	}
	if p.e.QueryParams().Has("token") {
		p.refuseSignIn(http.StatusBadRequest, p.T("口令不能写在地址里：地址会留在日志和历史记录中。请更换这个口令。",
			"A token must not stand in an address, which logs and histories keep. Replace this token."))
		return ""
	}
	token, err := c.cfg.Tokens.Find(strings.TrimSpace(p.e.FormValue("token")), p.e.Request().RemoteAddr)
	var limited *tokens.LimitError
	switch {
	case errors.As(err, &limited):
		p.e.Response().Header().Set(echo.HeaderRetryAfter, limited.Seconds())
		p.refuseSignIn(http.StatusTooManyRequests,
			p.T("错误的口令太多，请稍后再试。", "Too many wrong tokens came from your address: try again later."))
		return ""
	case err != nil || token.Role != bus.Editor && token.Role != bus.Operator:
		c.log.Warn("a sign-in with an unknown token, or one that is not for editors", "from", p.e.Request().RemoteAddr)
		p.refuseSignIn(http.StatusUnauthorized, p.T("口令不对，或不是给编辑用的。", "This token is not known, or not for editors."))
		return ""
	}
	c.sessions.begin(p.e, token.Name, token.Role.String(), token.Line)
	return to
}

// refuseSignIn shows the form again.
func (p *page) refuseSignIn(status int, why string) {
	p.Problem = why
	must.Do(p.write(status, p.show("signin", "", "登录", "Sign in", nil)))
}

func (c *Console) signOut(_ context.Context, p *page) string {
	c.sessions.end(p.e, p.session)
	return "/console/signin"
}
