package api

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/labstack/echo/v4"
	"github.com/nats-io/nats.go"

	"jianguo/bus"
	"jianguo/exposure"
	"jianguo/exposure/state"
	"jianguo/exposure/wire"
	"jianguo/internal/must"
)

// BitmapType is a bitmap answer to a filter, as package exposure describes it.
const BitmapType = "application/octet-stream"

// Headers of a bitmap answer, which has no other place for them.
const (
	DroppedHeader  = "Jianguo-Dropped"
	RelaxedHeader  = "Jianguo-Relaxed"
	DegradedHeader = "Jianguo-Degraded"
)

// exposureRoutes serve /filter and /exposures from one store.
type exposureRoutes struct {
	server *Server
	store  *exposure.Store
	wait   gate // for what is stored
}

// AddExposure registers the routes and bus services of a store: POST /filter,
// POST /exposures with /query, /explain, /unsee, /forget, /link and /unlink, exposures.filter and
// exposures.report. It is called between New and Serve.
func (s *Server) AddExposure(store *exposure.Store) {
	s.hotList.exposure = store
	r := &exposureRoutes{server: s, store: store, wait: make(gate, 8*s.cfg.Concurrency)}
	s.filters = make(gate, s.cfg.Concurrency)
	add := func(path string, roles bus.Role, g gate, h handler) {
		s.register(http.MethodPost, path, roles, s.bound(wire.MaxBody, g, h.serve))
	}
	add("/filter", recall, s.filters, r.filter)
	add("/exposures", recall, r.wait, r.take(""))
	add("/exposures/query", recall|editor, s.filters, r.query)
	add("/exposures/explain", recall|editor, s.filters, r.explain)
	add("/exposures/unsee", recall, r.wait, r.take(state.Unsee))
	add("/exposures/forget", recall, r.wait, r.take(state.Forget))
	add("/exposures/link", recall, r.wait, r.take(state.Link))
	add("/exposures/unlink", recall, r.wait, r.take(state.Unlink))
	add("/exposures/trace", 0, r.wait, r.startTrace) // operators only
	s.handle(s.work, http.MethodGet, "/exposures/trace", 0, r.readTrace)
	s.endpoints = append(s.endpoints,
		endpoint{"exposures.filter", "what a user has not seen of some items, as POST /filter", r.filterMessage},
		endpoint{"exposures.report", "what a user was shown, as POST /exposures", r.reportMessage})
}

// answers are buffers for answers. Those that a rare large request has grown are not kept.
var answers = sync.Pool{New: func() any { return new([]byte) }}

// filter answers POST /filter.
func (r *exposureRoutes) filter(c echo.Context) any {
	format := exposure.JSON
	if accepts(c, BitmapType) {
		format = exposure.Bitmap
	}
	out := answers.Get().(*[]byte)
	defer func() {
		if cap(*out) <= 1<<20 {
			answers.Put(out)
		}
	}()
	b, o, err := r.store.FilterBytes(c.Request().Context(), (*out)[:0], readBody(c), format)
	*out = b
	must.Do(r.reason(err))
	h := c.Response().Header()
	contentType := echo.MIMEApplicationJSON
	if format == exposure.Bitmap {
		contentType = BitmapType
		tellOutcome(h, o)
	}
	h.Set(echo.HeaderContentLength, strconv.Itoa(len(b)))
	must.Do(c.Blob(http.StatusOK, contentType, b))
	return nil
}

// accepts reports whether a client accepts a type of answers.
func accepts(c echo.Context, contentType string) bool {
	return strings.Contains(strings.ToLower(c.Request().Header.Get(echo.HeaderAccept)), contentType)
}

// tellOutcome sets the headers of a bitmap answer.
func tellOutcome(h http.Header, o wire.Outcome) {
	h.Set(DroppedHeader, strconv.Itoa(o.Dropped))
	if o.Relaxed > 0 {
		h.Set(RelaxedHeader, strconv.Itoa(o.Relaxed))
	}
	if o.Degraded != "" {
		h.Set(DegradedHeader, o.Degraded)
	}
}

// take answers the routes that store events of a kind.
func (r *exposureRoutes) take(kind state.EventKind) handler {
	return func(c echo.Context) any {
		must.Do(r.apply(c.Request().Context(), readBody(c), kind))
		must.Do(c.NoContent(http.StatusNoContent))
		return nil
	}
}

// reportWait bounds how long a report may wait to be applied, as while a Redis of histories is away.
const reportWait = 30 * time.Second

func (r *exposureRoutes) apply(ctx context.Context, body []byte, kind state.EventKind) error {
	if err := r.server.room(); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, reportWait)
	defer cancel()
	return r.reason(r.store.Report(ctx, body, kind))
}

// reason is an error of the store, or why its log takes nothing: the disk.
func (r *exposureRoutes) reason(err error) error {
	if errors.Is(err, exposure.ErrFull) {
		return cmp.Or(r.server.room(), err)
	}
	return err
}

// question reads a question about a user.
func question(c echo.Context) (q wire.Query) {
	must.Do(q.Decode(readBody(c)))
	return q
}

// query answers POST /exposures/query.
func (r *exposureRoutes) query(c echo.Context) any {
	q := question(c)
	return must.Get(r.store.Query(c.Request().Context(), q.User, q.Scene, q.IDs()))
}

// explain answers POST /exposures/explain.
func (r *exposureRoutes) explain(c echo.Context) any {
	q := question(c)
	return readable(c, must.Get(r.store.Explain(c.Request().Context(), q.User, q.Item, q.Scene)))
}

// startTrace answers POST /exposures/trace.
func (r *exposureRoutes) startTrace(c echo.Context) any {
	q, ctx := question(c), c.Request().Context()
	must.Do(r.store.Traces.Start(ctx, q.User, q.For, q.Reason))
	// Warnings are in the log by default.
	r.server.log.WarnContext(ctx, "a trace of a user begins", "for", q.For, "reason", q.Reason,
		"user_hash", r.store.UserHash(q.User), "by", callerName(ctx))
	must.Do(c.NoContent(http.StatusNoContent))
	return nil
}

// readTrace answers GET /exposures/trace.
func (r *exposureRoutes) readTrace(c echo.Context) any {
	user, ctx := c.QueryParam("user"), c.Request().Context()
	t := must.Get(r.store.Traces.Read(ctx, user))
	r.server.log.WarnContext(ctx, "a trace of a user is read", "user_hash", r.store.UserHash(user),
		"by", callerName(ctx))
	return readable(c, t)
}

// readable answers in plain text, or with the value as JSON if the client accepts that.
func readable(c echo.Context, v fmt.Stringer) any {
	if accepts(c, echo.MIMEApplicationJSON) {
		return v
	}
	must.Do(c.String(http.StatusOK, v.String()))
	return nil
}

// filterMessage serves exposures.filter.
func (r *exposureRoutes) filterMessage(ctx context.Context, data []byte, _ nats.Header) []byte {
	out, _, err := r.store.FilterBytes(ctx, nil, data, exposure.JSON)
	must.Do(r.reason(err))
	return out
}

// reportMessage serves exposures.report; the reply is an empty object.
func (r *exposureRoutes) reportMessage(ctx context.Context, data []byte, _ nats.Header) []byte {
	must.Do(r.apply(ctx, data, ""))
	return []byte("{}")
}
