package console

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"maps"
	"net/http"
	"net/netip"
	"net/url"
	"strings"
	"sync"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/labstack/echo/v4"
)

const (
	sessionCookie  = "jianguo_session"
	languageCookie = "jianguo_language"
	themeCookie    = "jianguo_theme"
)

// sessionLength is how long a sign-in is valid.
const sessionLength = 12 * time.Hour

// session is the signed-in user. It is the content of the cookie; the server stores
// only which ones were signed out.
type session struct {
	Name string `json:"n"`
	Role string `json:"r"`
	End  int64  `json:"e"` // seconds since 1970
	Salt string `json:"s"`
	// Token is the session name of the token that the user signed in with.
	Token string `json:"t,omitempty"`
}

// ended holds the salts of the sessions that were signed out, with the time at which each
// would have ended by itself.
type ended struct {
	mu    sync.Mutex
	salts map[string]int64 // under mu
}

func (e *ended) add(s session, now int64) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.salts == nil {
		e.salts = map[string]int64{}
	}
	maps.DeleteFunc(e.salts, func(_ string, end int64) bool { return end < now })
	e.salts[s.Salt] = s.End
}

func (e *ended) has(s session) bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	_, ok := e.salts[s.Salt]
	return ok
}

func (c *Console) sign(what string, data []byte) []byte {
	h := hmac.New(sha256.New, c.key)
	h.Write([]byte(what))
	h.Write(data)
	return h.Sum(nil)
}

// session returns the user of a request; false: not signed in.
func (c *Console) session(e echo.Context) (session, bool) {
	if s, ok := c.proxied(e.Request()); ok {
		return s, true
	}
	s, ok := c.readCookie(e.Request())
	if ok {
		return s, true
	}
	if !c.open() {
		return session{}, false
	}
	s = c.newSession("editor", RoleOperator, "")
	c.writeCookie(e, s)
	return s, true
}

// open reports whether the console needs no sign-in.
func (c *Console) open() bool { return c.cfg.Tokens == nil && c.cfg.Header == "" }

// known reports whether the user of a request is signed in, or need not be.
func (c *Console) known(e echo.Context) bool {
	_, proxied := c.proxied(e.Request())
	_, signedIn := c.readCookie(e.Request())
	return proxied || signedIn || c.open()
}

// proxied returns the user that a trusted proxy names.
func (c *Console) proxied(r *http.Request) (session, bool) {
	if c.cfg.Header == "" || !c.fromProxy(r) {
		return session{}, false
	}
	name, ok := lone(r.Header, c.cfg.Header)
	if !ok || name == "" {
		return session{}, false
	}
	s := session{Name: name, Role: RoleEditor, Salt: "proxy " + name}
	if c.cfg.RoleHeader != "" {
		switch role, ok := lone(r.Header, c.cfg.RoleHeader); {
		case !ok || role != "" && role != RoleEditor && role != RoleOperator:
			return session{}, false
		case role != "":
			s.Role = role
		}
	}
	return s, true
}

func (c *Console) fromProxy(r *http.Request) bool {
	from, err := netip.ParseAddrPort(r.RemoteAddr)
	if err != nil {
		return false
	}
	for _, p := range c.cfg.Proxies {
		if p.Contains(from.Addr().Unmap().WithZone("")) {
			return true
		}
	}
	return false
}

// maxName bounds a name that a proxy gives, in bytes.
const maxName = 200

// lone is the value of a header, empty if it is missing; false if it is repeated,
// or has characters that a log cannot show.
func lone(h http.Header, key string) (string, bool) {
	values := h.Values(key)
	if len(values) > 1 {
		return "", false
	}
	value := strings.TrimSpace(strings.Join(values, ""))
	ok := len(value) <= maxName && utf8.ValidString(value) && !strings.ContainsFunc(value, func(r rune) bool { return !unicode.IsPrint(r) })
	return value, ok
}

func (c *Console) newSession(name, role, token string) session {
	return session{Name: name, Role: role, Token: token, End: c.cfg.Now().Add(sessionLength).Unix(), Salt: rand.Text()}
}

func (c *Console) readCookie(r *http.Request) (s session, ok bool) {
	cookie, err := r.Cookie(sessionCookie)
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
	return s, c.cfg.Now().Unix() < s.End && !c.ended.has(s) && (c.cfg.Tokens == nil || c.cfg.Tokens.Current(s.Token))
}

func (c *Console) writeCookie(e echo.Context, s session) {
	raw, err := json.Marshal(s)
	if err != nil {
		panic(err) // no field of a session can fail to encode
	}
	content := base64.RawURLEncoding.EncodeToString(raw)
	cookie := &http.Cookie{Name: sessionCookie, Value: content + "." + base64.RawURLEncoding.EncodeToString(c.sign("session", []byte(content))),
		Path: "/", HttpOnly: true, Secure: c.overTLS(e.Request()), SameSite: http.SameSiteLaxMode, Expires: time.Now().Add(sessionLength)}
	e.SetCookie(cookie)
	// The answer to this request belongs to the new session too.
	e.Request().AddCookie(cookie)
}

// overTLS reports whether the browser speaks https, with this service or with its proxy.
func (c *Console) overTLS(r *http.Request) bool {
	return r.TLS != nil || c.fromProxy(r) && strings.EqualFold(r.Header.Get(echo.HeaderXForwardedProto), "https")
}

// formToken is the token of a session's forms.
func (c *Console) formToken(s session) string {
	return base64.RawURLEncoding.EncodeToString(c.sign("form", []byte(s.Salt)))
}

// formIsOurs reports whether a form came from a page of the same session. The
// sign-in form has no session; there the browser's headers must say that no other
// site sent it.
func (c *Console) formIsOurs(e echo.Context, s session) bool {
	site := e.Request().Header.Get("Sec-Fetch-Site")
	if s.Salt == "" {
		return site == "" || site == "same-origin" || site == "none"
	}
	return hmac.Equal([]byte(e.FormValue("form")), []byte(c.formToken(s)))
}

// toSignIn sends the user to the sign-in page, which leads back to this one. What
// a form asked for is not done, since the user is unknown.
func (c *Console) toSignIn(e echo.Context) error {
	q := url.Values{}
	r := e.Request()
	if r.Method == http.MethodGet {
		q.Set("to", r.URL.RequestURI())
		if _, err := e.Cookie(sessionCookie); err == nil {
			q.Set("ended", r.Method)
		}
	} else {
		q.Set("ended", r.Method)
		if err := r.ParseForm(); err == nil && r.PostForm.Get("to") != "" {
			q.Set("to", r.PostForm.Get("to"))
		}
	}
	return e.Redirect(http.StatusSeeOther, "/console/signin?"+q.Encode())
}
