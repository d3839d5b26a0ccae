package api

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"mime"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/labstack/echo/v4"

	"jianguo/bus"
	"jianguo/exposure"
	"jianguo/exposure/state"
	"jianguo/exposure/wire"
	"jianguo/internal/must"
)

// BitmapType is a bitmap answer to a filter, as package exposure describes it.
const BitmapType = "application/octet-stream"

// exposures are the routes and bus services of histories.
type exposures struct{ *Server }

func (s exposures) add() {
	post := func(path string, roles bus.Role, l limiter, h handler) {
		s.register(http.MethodPost, path, roles, s.bound(wire.MaxBody, l, h.serve))
	}
	post("/filter", bus.Recall, s.filters, s.filter)
	post("/exposures", bus.Recall, s.reports, s.report(""))
	post("/exposures/query", bus.Recall|bus.Editor, s.filters, s.query)
	post("/exposures/explain", bus.Recall|bus.Editor, s.filters, s.explain)
	post("/exposures/unsee", bus.Recall, s.reports, s.report(state.Unsee))
	post("/exposures/forget", bus.Recall, s.reports, s.report(state.Forget))
	post("/exposures/link", bus.Recall, s.reports, s.report(state.Link))
	post("/exposures/unlink", bus.Recall, s.reports, s.report(state.Unlink))
	post("/exposures/trace", 0, s.reports, s.startTrace) // operators only
	s.handle(s.work, http.MethodGet, "/exposures/trace", 0, s.readTrace)
	s.endpoints = append(s.endpoints,
		endpoint{"exposures.filter", "what a user has not seen of some items, as POST /filter", s.filterMessage},
		endpoint{"exposures.report", "what a user was shown, as POST /exposures", s.reportMessage})
}

// answers are buffers for answers. Those that a rare large request has grown are not kept.
var answers = sync.Pool{New: func() any { return new([]byte) }}

func (s exposures) filter(c echo.Context) any {
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
	b, o, err := s.cfg.Exposure.FilterBytes(c.Request().Context(), (*out)[:0], readBody(c), format)
	*out = b
	must.Do(s.fullBecause(err))
	h := c.Response().Header()
	contentType := echo.MIMEApplicationJSON
	if format == exposure.Bitmap {
		contentType = BitmapType
		// A bitmap has no other place for them.
		h.Set("Jianguo-Dropped", strconv.Itoa(o.Dropped))
		if o.Relaxed > 0 {
			h.Set("Jianguo-Relaxed", strconv.Itoa(o.Relaxed))
		}
		if o.Degraded != "" {
			h.Set("Jianguo-Degraded", o.Degraded)
		}
	}
	h.Set(echo.HeaderContentLength, strconv.Itoa(len(b)))
	must.Do(c.Blob(http.StatusOK, contentType, b))
	return nil
}

func accepts(c echo.Context, contentType string) bool {
	for one := range strings.SplitSeq(strings.Join(c.Request().Header.Values(echo.HeaderAccept), ","), ",") {
		accepted, params, _ := mime.ParseMediaType(one)
		if q, err := strconv.ParseFloat(params["q"], 64); accepted == contentType && (err != nil || q > 0) {
			return true
		}
	}
	return false
}

// report answers the routes that store events of a kind; of POST /exposures, which "" is, the body names it.
func (s exposures) report(kind state.EventKind) handler {
	return func(c echo.Context) any {
		must.Do(s.store(c.Request().Context(), readBody(c), kind))
		must.Do(c.NoContent(http.StatusNoContent))
		return nil
	}
}

// reportWait bounds how long a report may wait to be applied, as while a Redis of histories is away.
const reportWait = 30 * time.Second

// store returns when an event is durable and applied.
func (s exposures) store(ctx context.Context, body []byte, kind state.EventKind) error {
	if err := s.room(); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, reportWait)
	defer cancel()
	return s.fullBecause(s.cfg.Exposure.Report(ctx, body, kind))
}

// fullBecause is an error of the store, or, where its log is full because the disk is, that of the disk.
func (s exposures) fullBecause(err error) error {
	if errors.Is(err, exposure.ErrFull) {
		return cmp.Or(s.room(), err)
	}
	return err
}

// question reads a question about a user.
func question(c echo.Context) (q wire.Query) {
	must.Do(q.Decode(readBody(c)))
	return q
}

func (s exposures) query(c echo.Context) any {
	q := question(c)
	return must.Get(s.cfg.Exposure.Query(c.Request().Context(), q.User, q.Scene, q.IDs()))
}

func (s exposures) explain(c echo.Context) any {
	q := question(c)
	return readable(c, must.Get(s.cfg.Exposure.Explain(c.Request().Context(), q.User, q.Item, q.Scene)))
}

func (s exposures) startTrace(c echo.Context) any {
	q, ctx := question(c), c.Request().Context()
	must.Do(s.cfg.Exposure.Traces.Start(ctx, q.User, q.For, q.Reason))
	// Warnings are in the log by default.
	s.log.WarnContext(ctx, "a trace of a user begins", "for", q.For, "reason", q.Reason,
		"user_hash", s.cfg.Exposure.UserHash(q.User), "by", callerName(ctx))
	must.Do(c.NoContent(http.StatusNoContent))
	return nil
}

func (s exposures) readTrace(c echo.Context) any {
	user, ctx := c.QueryParam("user"), c.Request().Context()
	t := must.Get(s.cfg.Exposure.Traces.Read(ctx, user))
	s.log.WarnContext(ctx, "a trace of a user is read", "user_hash", s.cfg.Exposure.UserHash(user),
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
func (s exposures) filterMessage(ctx context.Context, data []byte) []byte {
	out, _, err := s.cfg.Exposure.FilterBytes(ctx, nil, data, exposure.JSON)
	must.Do(s.fullBecause(err))
	return out
}

// reportMessage serves exposures.report; the reply is an empty object.
func (s exposures) reportMessage(ctx context.Context, data []byte) []byte {
	must.Do(s.store(ctx, data, ""))
	return []byte("{}")
}
