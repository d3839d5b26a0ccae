package api

import (
	"bytes"
	"cmp"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/labstack/echo/v4"
)

// boundPages is bound for pages, whose callers may not be known.
func (s *Server) boundPages(known func(echo.Context) bool) echo.MiddlewareFunc {
	return func(next echo.HandlerFunc) echo.HandlerFunc {
		signedIn, public := s.bound(MaxBody, s.work, next), s.bound(publicBody, s.work, next)
		return func(c echo.Context) error {
			if known(c) {
				return signedIn(c)
			}
			return public(c)
		}
	}
}

// bound reads the body of a request, and calls next once a limiter admits it. While the limiter is full, bodies are
// not read.
func (s *Server) bound(limit int64, l limiter, next echo.HandlerFunc) echo.HandlerFunc {
	return func(c echo.Context) error {
		if l.full() {
			discard(c, limit)
			return errTooMany
		}
		r, b := c.Request(), &body{Buffer: buffers.Get().(*bytes.Buffer), all: &s.bodyBytes}
		defer b.release()
		if r.Body != nil && r.Body != http.NoBody {
			if err := b.read(c, limit); err != nil {
				return err
			}
		}
		if err := l.enter(); err != nil {
			return err
		}
		defer l.leave()
		if limit > publicBody {
			s.conns.prove(r.Context())
		}
		r.Body = io.NopCloser(bytes.NewReader(b.Bytes()))
		c.Set(bodyKey, b.Bytes())
		return next(c)
	}
}

// observe gives a request its id, and counts and logs how it ended.
func (s *Server) observe(next echo.HandlerFunc) echo.HandlerFunc {
	return func(c echo.Context) error {
		start := time.Now()
		r := c.Request()
		id := requestID(r.Header.Get(echo.HeaderXRequestID))
		h := c.Response().Header()
		h.Set(echo.HeaderXRequestID, id)
		h.Set("X-Content-Type-Options", "nosniff")
		err := next(c)
		if err != nil {
			c.Error(err)
		}
		status, took := c.Response().Status, time.Since(start)
		route := cmp.Or(c.Path(), "none")
		s.requests.WithLabelValues(methodLabel(r.Method), route, strconv.Itoa(status)).Inc()
		s.seconds.WithLabelValues(route).Observe(took.Seconds())
		level := slog.LevelDebug
		switch {
		case r.Context().Err() != nil: // the client went away
		case status == http.StatusServiceUnavailable || status == http.StatusTooManyRequests ||
			status == http.StatusInsufficientStorage:
			level = slog.LevelInfo
		case status >= 500:
			level = slog.LevelError
		}
		if s.log.Enabled(r.Context(), level) {
			s.log.LogAttrs(r.Context(), level, "request", slog.String("request", id), slog.String("method", r.Method),
				slog.String("path", r.URL.EscapedPath()),
				slog.Int("status", status), slog.Duration("took", took), slog.String("from", r.RemoteAddr),
				slog.String("by", callerName(c.Request().Context())), slog.Any("error", err))
		}
		return nil
	}
}

// methodLabel keeps clients from inventing time series.
func methodLabel(method string) string {
	switch method {
	case http.MethodGet, http.MethodHead, http.MethodPost, http.MethodDelete, http.MethodPut, http.MethodPatch,
		http.MethodOptions:
		return method
	}
	return "other"
}

// requestIDs are what the id of a request consists of.
const requestIDs = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_."

// requestID is the caller's id of a request if it is one, else a new one.
func requestID(given string) string {
	if given == "" || len(given) > 64 || strings.Trim(given, requestIDs) != "" {
		return rand.Text()
	}
	return given
}

// panicked logs a panic; echo makes an error of it: one bad request ends alone.
func (s *Server) panicked(c echo.Context, err error, stack []byte) error {
	s.log.ErrorContext(c.Request().Context(), "handler panicked", "request",
		c.Response().Header().Get(echo.HeaderXRequestID), "panic", err, "stack", string(stack))
	return fmt.Errorf("api: panic: %w", err)
}

// ownSite refuses requests that a page of another site makes a browser send. It does
// not affect other clients. Without tokens, the host of a request must be an address or
// localhost: a name may belong to another site and point to this machine (DNS
// rebinding).
func (s *Server) ownSite(next echo.HandlerFunc) echo.HandlerFunc {
	origins := http.NewCrossOriginProtection()
	return func(c echo.Context) error {
		r := c.Request()
		if origins.Check(r) != nil {
			return NewProblem(http.StatusForbidden, "", "a page of another site may not make this request")
		}
		if s.cfg.Tokens.Len() == 0 && !s.cfg.AnyHost && !isOwnHost(r.Host) {
			return NewProblem(http.StatusMisdirectedRequest, "Host",
				fmt.Sprintf("Host is %.80q: without tokens, this service answers only to localhost and to addresses",
					r.Host))
		}
		return next(c)
	}
}

func isOwnHost(hostport string) bool {
	host, _, err := net.SplitHostPort(hostport)
	if err != nil {
		host = strings.Trim(hostport, "[]")
	}
	return strings.EqualFold(host, "localhost") || net.ParseIP(host) != nil
}

// problemHandler is echo's error handler: whatever a handler returned becomes
// a Problem, unless an answer has already begun.
func (s *Server) problemHandler(err error, c echo.Context) {
	if c.Response().Committed {
		return
	}
	p := *problemOf(err)
	if gone := c.Request().Context().Err(); gone != nil && p.Status == http.StatusInternalServerError {
		p = *problemOf(gone) // what failed, failed because of that
	}
	p.Request = c.Response().Header().Get(echo.HeaderXRequestID)
	h := c.Response().Header()
	if p.retryAfter != "" {
		h.Set(echo.HeaderRetryAfter, p.retryAfter)
	}
	if p.challenge != "" {
		h.Set(echo.HeaderWWWAuthenticate, p.challenge)
	}
	if c.Request().Method == http.MethodHead {
		err = c.NoContent(p.Status)
	} else {
		var body []byte
		if body, err = json.Marshal(&p); err == nil {
			err = c.Blob(p.Status, problemType, body)
		}
	}
	if err != nil {
		s.log.DebugContext(c.Request().Context(), "problem not written", "error", err)
	}
}
