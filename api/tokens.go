package api

import (
	"bufio"
	"context"
	"crypto/sha256"
	"crypto/subtle"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"

	"github.com/labstack/echo/v4"

	"jianguo/bus"
)

// The roles, as routes name them; a route has the set that may use it.
const (
	platform = bus.Platform
	recall   = bus.Recall
	editor   = bus.Editor
	operator = bus.Operator
)

var roleNames = map[string]bus.Role{"platform": platform, "recall": recall, "editor": editor, "operator": operator}

// minToken is the shortest token taken, in bytes: a guesser tries the short
// ones first.
const minToken = 16

// Tokens holds the tokens that may use the service, as SHA-256 hashes. The zero Tokens
// accepts every client.
type Tokens struct{ list []token }

type token struct {
	name string
	role bus.Role
	hash [sha256.Size]byte
}

// Len is the number of tokens.
func (t Tokens) Len() int { return len(t.list) }

// ReadTokens reads a list of tokens, one `name role token` a line with any
// space between; empty lines and those that begin with # are passed over. Roles
// are platform, recall, editor and operator. An error names the line, never
// the token.
func ReadTokens(r io.Reader) (Tokens, error) {
	var t Tokens
	sc := bufio.NewScanner(r)
	for n := 1; sc.Scan(); n++ {
		f := strings.Fields(sc.Text())
		if len(f) == 0 || strings.HasPrefix(f[0], "#") {
			continue
		}
		if len(f) != 3 {
			return Tokens{}, fmt.Errorf("api: tokens: line %d has %d words, want name, role and token", n, len(f))
		}
		role, ok := roleNames[f[1]]
		if !ok {
			return Tokens{}, fmt.Errorf("api: tokens: line %d: role %q: want platform, recall, editor or operator", n, f[1])
		}
		if len(f[2]) < minToken {
			return Tokens{}, fmt.Errorf("api: tokens: line %d: the token of %q has fewer than %d characters", n, f[0], minToken)
		}
		tok := token{name: f[0], role: role, hash: sha256.Sum256([]byte(f[2]))}
		if slices.ContainsFunc(t.list, func(o token) bool { return o.hash == tok.hash }) {
			return Tokens{}, fmt.Errorf("api: tokens: line %d: the token of %q is also somebody else's", n, f[0])
		}
		t.list = append(t.list, tok)
	}
	if err := sc.Err(); err != nil {
		return Tokens{}, fmt.Errorf("api: tokens: %w", err)
	}
	if len(t.list) == 0 {
		return Tokens{}, fmt.Errorf("api: tokens: the list is empty")
	}
	return t, nil
}

// Authenticate says whose token it is and what their role is.
func (t Tokens) Authenticate(secret string) (name, role string, ok bool) {
	tok, ok := t.find(secret)
	for name, set := range roleNames {
		if ok && set == tok.role {
			role = name
		}
	}
	return tok.name, role, ok
}

// BusUser is the client of the embedded bus that has a secret, and the subjects it may
// use; it has the type of bus.Config.Authenticate. The zero Tokens let every client in.
func (t Tokens) BusUser(secret string) (bus.User, bool) {
	if t.Len() == 0 {
		return bus.Anonymous(), true
	}
	tok, ok := t.find(secret)
	if !ok {
		return bus.User{}, false
	}
	return bus.UserOf(tok.name, secret, tok.role), true
}

// find returns whose token it is. Every hash is compared in constant time.
func (t Tokens) find(secret string) (found token, ok bool) {
	hash := sha256.Sum256([]byte(secret))
	for i := range t.list {
		if subtle.ConstantTimeCompare(hash[:], t.list[i].hash[:]) == 1 {
			found, ok = t.list[i], true
		}
	}
	return found, ok
}

// callerKey is where a request's context keeps the name of its token.
type callerKey struct{}

// callerName is whose token a request carries; empty where there are none.
func callerName(ctx context.Context) string {
	name, _ := ctx.Value(callerKey{}).(string)
	return name
}

// guard lets the given roles through.
func (s *Server) guard(roles bus.Role, next echo.HandlerFunc) echo.HandlerFunc {
	if s.cfg.Tokens.Len() == 0 {
		return next
	}
	return func(c echo.Context) error {
		r := c.Request()
		tok, ok := s.cfg.Tokens.find(secretOf(r))
		if !ok {
			p := NewProblem(http.StatusUnauthorized, "Authorization", "a token is needed here, and none that is known was given (Authorization: Bearer …)")
			p.challenge = `Bearer realm="jianguo"`
			if isReading(r) {
				p.challenge += `, Basic realm="jianguo", charset="UTF-8"`
			}
			return p
		}
		if tok.role&roles == 0 {
			return NewProblem(http.StatusForbidden, "Authorization", fmt.Sprintf("the token of %q is not for this: its role is another", tok.name))
		}
		c.SetRequest(r.WithContext(context.WithValue(r.Context(), callerKey{}, tok.name)))
		return next(c)
	}
}

// secretOf returns the token of a request. Browsers add a Basic password by themselves,
// also to requests that another site makes: it is valid for reading only.
func secretOf(r *http.Request) string {
	header := r.Header.Get(echo.HeaderAuthorization)
	if scheme, secret, ok := strings.Cut(header, " "); ok && strings.EqualFold(scheme, "bearer") {
		return strings.TrimSpace(secret)
	}
	if _, password, ok := r.BasicAuth(); ok && isReading(r) {
		return password
	}
	return ""
}

func isReading(r *http.Request) bool {
	return r.Method == http.MethodGet || r.Method == http.MethodHead
}
