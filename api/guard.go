package api

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/labstack/echo/v4"

	"jianguo/api/tokens"
	"jianguo/bus"
	"jianguo/index"
)

// callerKey is where a request's context keeps its token.
type callerKey struct{}

// caller is the token that a request carries; an empty one where there are none.
func caller(ctx context.Context) *tokens.Token {
	if t, ok := ctx.Value(callerKey{}).(*tokens.Token); ok {
		return t
	}
	return new(tokens.Token)
}

// callerName is whose token a request carries; empty where there are none.
func callerName(ctx context.Context) string { return caller(ctx).Name }

// mayPublish refuses an item of a source that the token of a request is not for, and a change of one.
func (s *Server) mayPublish(ctx context.Context, id string, sources ...string) error {
	t := caller(ctx)
	if len(t.Sources) == 0 {
		return nil
	}
	it, err := s.cfg.Index.Item(ctx, id)
	switch {
	case err == nil:
		sources = append(sources, it.Source)
	case !errors.Is(err, index.ErrNotFound):
		return err
	case len(sources) == 0: // whose it will be is not known
		return NewProblem(http.StatusNotFound, "id", "a token for sources withdraws what has arrived, and this has not")
	}
	if i := slices.IndexFunc(sources, func(s string) bool { return !t.MayPublish(s) }); i >= 0 {
		return NewProblem(http.StatusForbidden, "source", fmt.Sprintf(
			"the token of %q is for the sources %s, and not for %q", t.Name, strings.Join(t.Sources, ", "), sources[i]))
	}
	return nil
}

// guard lets the given roles through.
func (s *Server) guard(roles bus.Role, next echo.HandlerFunc) echo.HandlerFunc {
	if s.cfg.Tokens.Len() == 0 {
		return next
	}
	return func(c echo.Context) error {
		r := c.Request()
		tok, err := s.cfg.Tokens.Find(secretOf(r), r.RemoteAddr)
		if err == nil {
			err = tok.Spend()
		}
		if limit, ok := errors.AsType[*tokens.LimitError](err); ok {
			p := NewProblem(http.StatusTooManyRequests, "Authorization", limit.Why)
			p.retryAfter = limit.Seconds()
			return p
		}
		if err != nil {
			p := NewProblem(http.StatusUnauthorized, "Authorization",
				"a token is needed here, and none that is known was given (Authorization: Bearer …)")
			p.challenge = `Bearer realm="jianguo"`
			if isReading(r) {
				p.challenge += `, Basic realm="jianguo", charset="UTF-8"`
			}
			if r.Header.Get(echo.HeaderAuthorization) != "" {
				s.log.WarnContext(r.Context(), "a request with an unknown token", "from", r.RemoteAddr, "path",
					r.URL.EscapedPath())
			}
			return p
		}
		if tok.Role&roles == 0 {
			return NewProblem(http.StatusForbidden, "Authorization",
				fmt.Sprintf("the token of %q has the role %v: this needs the role %v", tok.Name, tok.Role, roles))
		}
		c.SetRequest(r.WithContext(context.WithValue(r.Context(), callerKey{}, tok)))
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
