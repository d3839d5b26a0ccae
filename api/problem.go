package api

import (
	"cmp"
	"context"
	"errors"
	"net/http"
	"slices"
	"strings"

	"github.com/labstack/echo/v4"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"jianguo/exposure"
	"jianguo/exposure/trace"
	"jianguo/exposure/wire"
	"jianguo/index"
	"jianguo/ingest"
	"jianguo/internal/streams"
)

// Problem is the body of every error, RFC 9457's application/problem+json. Its
// type is left out, which the RFC reads as about:blank: the title is that of
// the status, and the detail is a sentence the caller can act on.
type Problem struct {
	Title  string `json:"title"`
	Status int    `json:"status"`
	Detail string `json:"detail"`
	// Field is the field, query parameter or header at fault, empty where no
	// single one is; "payload" is the body as a whole.
	Field string `json:"field,omitempty"`
	// Request is the id that the log knows the request by.
	Request string `json:"request,omitempty"`
	// Decision is, for a conflict, the earlier decision of another editor.
	Decision *index.Decision `json:"decision,omitempty"`

	retryAfter string // seconds; for 429 and 503
	challenge  string // WWW-Authenticate; for 401
}

func (p *Problem) Error() string { return p.Detail }

const problemType = "application/problem+json"

// NewProblem makes a Problem; field may be empty.
func NewProblem(status int, field, detail string) *Problem {
	p := &Problem{Title: http.StatusText(status), Status: status, Field: field, Detail: detail}
	if status == http.StatusTooManyRequests || status == http.StatusServiceUnavailable {
		p.retryAfter = "1"
	}
	return p
}

// meanings are what errors mean to a client; the first that fits counts. The error itself follows a detail that ends
// with a colon, and takes the place of an empty one.
var meanings = []struct {
	of            []error
	status        int
	field, detail string
}{
	{[]error{exposure.ErrFull}, http.StatusTooManyRequests, "",
		"the event log is full and takes no reports until those it holds have been worked off"},
	{[]error{exposure.ErrExceptions}, http.StatusConflict, "items", "items cannot be un-seen: " +
		strings.TrimPrefix(exposure.ErrExceptions.Error(), "exposure: ")},
	{[]error{exposure.ErrLink}, http.StatusConflict, "from", ""},
	{[]error{trace.ErrTooMany}, http.StatusConflict, "user", ""},
	{[]error{trace.ErrNone}, http.StatusNotFound, "user", ""},
	{[]error{exposure.ErrFailed}, http.StatusServiceUnavailable, "",
		"exposures are not available until their store has resumed; the service's log says why"},
	{[]error{exposure.ErrNotReady, exposure.ErrClosed, exposure.ErrAway, exposure.ErrGone},
		http.StatusServiceUnavailable, "", "exposures are not available: "},
	{[]error{ingest.ErrPending}, http.StatusServiceUnavailable, "",
		"the bus has it, and it will be applied behind what waits in front of it: look again before you repeat it"},
	{[]error{index.ErrNotFound}, http.StatusNotFound, "", ""},
	{[]error{jetstream.ErrNoStreamResponse, nats.ErrConnectionClosed, nats.ErrDisconnected, nats.ErrTimeout,
		nats.ErrNoResponders, nats.ErrConnectionReconnecting, nats.ErrReconnectBufExceeded},
		http.StatusServiceUnavailable, "", busTrouble},
	{[]error{nats.ErrMaxPayload}, http.StatusRequestEntityTooLarge, "",
		"the message is larger than the bus takes (max_payload of its configuration)"},
	{[]error{index.ErrClosed}, http.StatusServiceUnavailable, "", "the service is shutting down"},
	{[]error{context.DeadlineExceeded, context.Canceled}, http.StatusServiceUnavailable, "",
		"the request was given up before it was done"},
}

const busTrouble = "the bus does not answer as it should: "

// sentences are the details of statuses that echo makes.
var sentences = map[int]string{
	http.StatusNotFound:         "there is nothing at this address; /openapi.yaml lists what there is",
	http.StatusMethodNotAllowed: "this address does not take this method; the header Allow lists those it takes",
}

// problemOf returns the answer to the client for an error. For an unforeseen error it
// has only the request id; the log has the rest.
func problemOf(err error) *Problem {
	var (
		problem  *Problem
		conflict *index.ConflictError
		asked    *index.FieldError
		wrong    *wire.Error
		field    *ingest.FieldError
		refused  *jetstream.APIError
		other    *echo.HTTPError
	)
	if errors.As(err, &problem) {
		return problem
	}
	if errors.As(err, &asked) {
		status := http.StatusUnprocessableEntity
		if errors.Is(err, index.ErrNotFound) {
			status = http.StatusNotFound
		}
		return NewProblem(status, asked.Field, asked.Error())
	}
	for _, m := range meanings {
		if slices.ContainsFunc(m.of, func(of error) bool { return errors.Is(err, of) }) {
			if m.detail == "" || strings.HasSuffix(m.detail, ": ") {
				m.detail += strings.TrimPrefix(err.Error(), "exposure: ")
			}
			return NewProblem(m.status, m.field, m.detail)
		}
	}
	switch {
	case errors.As(err, &conflict):
		p := NewProblem(http.StatusConflict, "", conflict.Error())
		p.Decision = conflict.Decision
		return p
	case errors.As(err, &wrong) && wrong.Field == "":
		return invalid(wrong.TooLarge, "payload", wrong.Detail)
	case errors.As(err, &wrong):
		return invalid(wrong.TooLarge, wrong.Field, wrong.Field+" "+wrong.Detail)
	case errors.As(err, &field):
		return invalid(field.TooLarge, field.Field, field.Field+" "+field.Problem)
	case errors.As(err, &refused) && refused.ErrorCode == streams.StoreFailed:
		return NewProblem(http.StatusTooManyRequests, "",
			"the bus is full and takes no more until what it holds has been worked off: "+refused.Description)
	case errors.As(err, &refused):
		return NewProblem(http.StatusServiceUnavailable, "", busTrouble+err.Error())
	case errors.As(err, &other):
		return NewProblem(other.Code, "", cmp.Or(sentences[other.Code], http.StatusText(other.Code)))
	}
	return NewProblem(http.StatusInternalServerError, "",
		"something went wrong here; the service's log says what, under this request's id")
}

// invalid is a mistake of the client: in all operations 400, or 413 where a limit was passed.
func invalid(tooLarge bool, field, detail string) *Problem {
	if tooLarge {
		return NewProblem(http.StatusRequestEntityTooLarge, field, detail)
	}
	return NewProblem(http.StatusBadRequest, field, detail)
}
