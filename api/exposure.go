package api

import (
	"context"
	"encoding/json"
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
	"jianguo/exposure/trace"
	"jianguo/exposure/wire"
)

// Forms of a filter's request and answer other than JSON.
const (
	// PackedType is a packed request; package exposure describes its bytes.
	PackedType = "application/x-jianguo-packed"
	// BitmapType is a bitmap answer, as package exposure describes it.
	BitmapType = "application/octet-stream"
)

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
	work   *gate // for filters
	wait   *gate // for what is stored
}

// AddExposure registers the routes and bus services of a store: POST /filter,
// POST /exposures with /query, /explain, /unsee, /forget, /link and /unlink, exposures.filter and
// exposures.report. It is called between New and Serve. The services answer a packed
// request with a bitmap and a JSON one with JSON.
func (s *Server) AddExposure(store *exposure.Store) {
	s.exposure = store
	r := &exposureRoutes{server: s, store: store, work: within(10*time.Millisecond, 32, s.cfg.Concurrency), wait: within(100*time.Millisecond, 32, 8*s.cfg.Concurrency)}
	s.filters = r.work
	add := func(path string, roles bus.Role, g *gate, h func(echo.Context, []byte) error) {
		s.echo.POST(path, s.guard(roles|operator, r.withBody(g, h)))
	}
	add("/filter", recall, r.work, r.filter)
	add("/exposures", recall, r.wait, r.take(""))
	add("/exposures/query", recall|editor, r.work, r.query)
	add("/exposures/explain", recall|editor, r.work, r.explain)
	add("/exposures/unsee", recall, r.wait, r.take(exposure.Unsee))
	add("/exposures/forget", recall, r.wait, r.take(exposure.Forget))
	add("/exposures/link", recall, r.wait, r.take(exposure.Link))
	add("/exposures/unlink", recall, r.wait, r.take(exposure.Unlink))
	add("/exposures/trace", 0, r.wait, r.startTrace) // operators only
	s.handle(http.MethodGet, "/exposures/trace", 0, r.readTrace)
	s.endpoints = append(s.endpoints,
		endpoint{"exposures.filter", "what a user has not seen of some items, as POST /filter", r.filterMessage},
		endpoint{"exposures.report", "what a user was shown, as POST /exposures", r.reportMessage})
}

// withBody reads the body, takes a place, and calls h.
func (r *exposureRoutes) withBody(g *gate, h func(echo.Context, []byte) error) echo.HandlerFunc {
	return func(c echo.Context) error {
		b, err := r.server.enter(c, &r.server.bodies, g, exposure.MaxBody)
		defer b.release()
		if err != nil {
			return err
		}
		return r.server.exposureProblem(h(c, b.data))
	}
}

// exposureProblem says what a store's error means to the caller.
func (s *Server) exposureProblem(err error) error {
	var bad *wire.Error
	switch {
	case err == nil:
		return nil
	case errors.As(err, &bad):
		status := map[wire.Fault]int{wire.Malformed: http.StatusBadRequest,
			wire.Invalid: http.StatusUnprocessableEntity, wire.TooLarge: http.StatusRequestEntityTooLarge}[bad.Fault]
		field, detail := bad.Field, bad.Detail
		if field == "" {
			field = "payload"
		} else {
			detail = field + " " + detail
		}
		return NewProblem(status, field, detail)
	case errors.Is(err, exposure.ErrFull):
		if full := s.room(); full != nil {
			return full // the disk is why the log takes nothing
		}
		return caused(http.StatusTooManyRequests, "the event log is full and takes no reports until those it holds have been worked off", err)
	case errors.Is(err, exposure.ErrExceptions):
		return NewProblem(http.StatusConflict, "items", fmt.Sprintf("items cannot be un-seen: %s; nothing was changed", strings.TrimPrefix(exposure.ErrExceptions.Error(), "exposure: ")))
	case errors.Is(err, exposure.ErrLink):
		return NewProblem(http.StatusConflict, "from", strings.TrimPrefix(err.Error(), "exposure: "))
	case errors.Is(err, trace.ErrMost):
		return NewProblem(http.StatusConflict, "user", err.Error())
	case errors.Is(err, trace.ErrNone):
		return NewProblem(http.StatusNotFound, "user", err.Error())
	case errors.Is(err, exposure.ErrNotReady), errors.Is(err, exposure.ErrClosed):
		return caused(http.StatusServiceUnavailable, "exposures are not available: "+strings.TrimPrefix(err.Error(), "exposure: "), err)
	}
	return err
}

// answers are buffers for answers. Those that a rare large request has grown are not kept.
var answers = sync.Pool{New: func() any { return new([]byte) }}

// filter answers POST /filter.
func (r *exposureRoutes) filter(c echo.Context, body []byte) error {
	req := c.Request()
	format := exposure.JSON
	if strings.Contains(strings.ToLower(req.Header.Get(echo.HeaderAccept)), BitmapType) {
		format = exposure.Bitmap
	}
	out := answers.Get().(*[]byte)
	defer func() {
		if cap(*out) <= sizes[len(sizes)-1] {
			answers.Put(out)
		}
	}()
	b, o, err := r.store.FilterBytes(req.Context(), (*out)[:0], body, format)
	*out = b
	if err != nil {
		return err
	}
	h := c.Response().Header()
	contentType := echo.MIMEApplicationJSON
	if format == exposure.Bitmap {
		contentType = BitmapType
		tellOutcome(h.Set, o)
	}
	h.Set(echo.HeaderContentLength, strconv.Itoa(len(b)))
	return c.Blob(http.StatusOK, contentType, b)
}

// tellOutcome sets the headers of a bitmap answer.
func tellOutcome(set func(name, value string), o exposure.Outcome) {
	set(DroppedHeader, strconv.Itoa(o.Dropped))
	if o.Relaxed > 0 {
		set(RelaxedHeader, strconv.Itoa(o.Relaxed))
	}
	if o.Degraded != "" {
		set(DegradedHeader, o.Degraded)
	}
}

// take answers the routes that store events of a kind.
func (r *exposureRoutes) take(kind exposure.EventKind) func(echo.Context, []byte) error {
	return func(c echo.Context, body []byte) error {
		if err := r.apply(c.Request().Context(), body, kind); err != nil {
			return err
		}
		return c.NoContent(http.StatusNoContent)
	}
}

func (r *exposureRoutes) apply(ctx context.Context, body []byte, kind exposure.EventKind) error {
	if err := r.server.room(); err != nil {
		return err
	}
	return r.store.Report(ctx, body, kind)
}

// query answers POST /exposures/query.
func (r *exposureRoutes) query(c echo.Context, body []byte) error {
	var q wire.Query
	if err := q.Decode(body); err != nil {
		return err
	}
	info, err := r.store.Query(c.Request().Context(), q.User, q.Scene, q.IDs())
	if err != nil {
		return err
	}
	return c.JSON(http.StatusOK, info)
}

// explain answers POST /exposures/explain.
func (r *exposureRoutes) explain(c echo.Context, body []byte) error {
	var q wire.Query
	if err := q.Decode(body); err != nil {
		return err
	}
	x, err := r.store.Explain(c.Request().Context(), q.User, q.Item, q.Scene)
	if err != nil {
		return err
	}
	return readable(c, x)
}

// startTrace answers POST /exposures/trace.
func (r *exposureRoutes) startTrace(c echo.Context, body []byte) error {
	var q wire.Query
	err := q.Decode(body)
	if err == nil {
		err = r.store.Traces.Start(c.Request().Context(), q.User, q.For, q.Reason)
	}
	if err != nil {
		return err
	}
	ctx := c.Request().Context() // warnings are in the log by default
	r.server.log.WarnContext(ctx, "a trace of a user begins", "for", q.For, "reason", q.Reason, "user_hash", r.store.UserHash(q.User), "by", callerName(ctx))
	return c.NoContent(http.StatusNoContent)
}

// readTrace answers GET /exposures/trace.
func (r *exposureRoutes) readTrace(c echo.Context) error {
	user, ctx := c.QueryParam("user"), c.Request().Context()
	t, err := r.store.Traces.Read(ctx, user)
	if err != nil {
		return r.server.exposureProblem(err)
	}
	r.server.log.WarnContext(ctx, "a trace of a user is read", "user_hash", r.store.UserHash(user), "by", callerName(ctx))
	return readable(c, t)
}

// readable answers in plain text, or with the value as JSON if the client accepts that.
func readable(c echo.Context, v fmt.Stringer) error {
	if strings.Contains(strings.ToLower(c.Request().Header.Get(echo.HeaderAccept)), echo.MIMEApplicationJSON) {
		return c.JSON(http.StatusOK, v)
	}
	return c.String(http.StatusOK, v.String())
}

// filterMessage serves exposures.filter. A bitmap has its headers as on HTTP.
func (r *exposureRoutes) filterMessage(ctx context.Context, data []byte, header nats.Header) ([]byte, error) {
	format := exposure.JSON
	if wire.IsPacked(data) {
		format = exposure.Bitmap
	}
	out, o, err := r.store.FilterBytes(ctx, nil, data, format)
	if err == nil && format == exposure.Bitmap {
		tellOutcome(header.Set, o)
	}
	return out, r.server.exposureProblem(err)
}

// busReportWait bounds how long a report on the bus may wait to be applied.
const busReportWait = 30 * time.Second

// reportMessage serves exposures.report; the reply is an empty object.
func (r *exposureRoutes) reportMessage(ctx context.Context, data []byte, _ nats.Header) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, busReportWait)
	defer cancel()
	if err := r.apply(ctx, data, ""); err != nil {
		return nil, r.server.exposureProblem(err)
	}
	return json.RawMessage("{}"), nil
}
