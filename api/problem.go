package api

import (
	"context"
	"errors"
	"fmt"
	"net/http"
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
	cause      error  // for the log, never for the wire
}

func (p *Problem) Error() string { return p.Detail }

func (p *Problem) Unwrap() error { return p.cause }

// problemType is the content type of a Problem.
const problemType = "application/problem+json"

// NewProblem makes a Problem; field may be empty.
func NewProblem(status int, field, detail string) *Problem {
	p := &Problem{Title: http.StatusText(status), Status: status, Field: field, Detail: detail}
	if status == http.StatusTooManyRequests || status == http.StatusServiceUnavailable {
		p.retryAfter = "1"
	}
	return p
}

// problemOf returns the answer to the client for an error. For an unforeseen error it
// has only the request id; the log has the rest.
func problemOf(err error) *Problem {
	var (
		problem *Problem
		field   *ingest.FieldError
		other   *echo.HTTPError
		refused *jetstream.APIError
	)
	if errors.As(err, &problem) {
		return problem
	}
	if problem = exposureProblem(err); problem != nil {
		return problem
	}
	switch {
	case errors.As(err, &field):
		return invalid(field.TooLarge, field.Field, field.Field+" "+field.Problem)
	case errors.Is(err, ingest.ErrPending):
		return caused(http.StatusServiceUnavailable,
			"the bus has it, and it will be applied behind what waits in front of it: look again before you repeat it",
			err)
	case errors.Is(err, index.ErrNotFound):
		return NewProblem(http.StatusNotFound, "", err.Error())
	case errors.As(err, &refused) && refused.ErrorCode == streams.StoreFailed:
		return caused(http.StatusTooManyRequests,
			"the bus is full and takes no more until what it holds has been worked off: "+refused.Description, err)
	case errors.As(err, &refused), errors.Is(err, jetstream.ErrNoStreamResponse),
		errors.Is(err, nats.ErrConnectionClosed), errors.Is(err, nats.ErrDisconnected), errors.Is(err, nats.ErrTimeout),
		errors.Is(err, nats.ErrNoResponders), errors.Is(err, nats.ErrConnectionReconnecting),
		errors.Is(err, nats.ErrReconnectBufExceeded):
		return caused(http.StatusServiceUnavailable, "the bus does not answer as it should: "+err.Error(), err)
	case errors.Is(err, nats.ErrMaxPayload):
		return caused(http.StatusRequestEntityTooLarge,
			"the message is larger than the bus takes (max_payload of its configuration)", err)
	case errors.Is(err, index.ErrClosed):
		return caused(http.StatusServiceUnavailable, "the service is shutting down", err)
	case errors.Is(err, context.DeadlineExceeded), errors.Is(err, context.Canceled):
		return caused(http.StatusServiceUnavailable, "the request was given up before it was done", err)
	case errors.As(err, &other):
		return caused(other.Code, statusSentence(other.Code), err)
	}
	return caused(http.StatusInternalServerError,
		"something went wrong here; the service's log says what, under this request's id", err)
}

// exposureProblem is problemOf for the errors of exposures; nil: it is none of these.
func exposureProblem(err error) *Problem {
	var wrong *wire.Error
	switch {
	case errors.As(err, &wrong):
		if wrong.Field == "" {
			return invalid(wrong.TooLarge, "payload", wrong.Detail)
		}
		return invalid(wrong.TooLarge, wrong.Field, wrong.Field+" "+wrong.Detail)
	case errors.Is(err, exposure.ErrFull):
		return caused(http.StatusTooManyRequests,
			"the event log is full and takes no reports until those it holds have been worked off", err)
	case errors.Is(err, exposure.ErrExceptions):
		return NewProblem(http.StatusConflict, "items",
			fmt.Sprintf("items cannot be un-seen: %s; nothing was changed",
				strings.TrimPrefix(exposure.ErrExceptions.Error(), "exposure: ")))
	case errors.Is(err, exposure.ErrLink):
		return NewProblem(http.StatusConflict, "from", strings.TrimPrefix(err.Error(), "exposure: "))
	case errors.Is(err, trace.ErrMost):
		return NewProblem(http.StatusConflict, "user", err.Error())
	case errors.Is(err, trace.ErrNone):
		return NewProblem(http.StatusNotFound, "user", err.Error())
	case errors.Is(err, exposure.ErrNotReady), errors.Is(err, exposure.ErrClosed), errors.Is(err, exposure.ErrAway):
		return caused(http.StatusServiceUnavailable,
			"exposures are not available: "+strings.TrimPrefix(err.Error(), "exposure: "), err)
	}
	return nil
}

// invalid is a mistake of the client: in all operations 400, or 413 where a limit was passed.
func invalid(tooLarge bool, field, detail string) *Problem {
	if tooLarge {
		return NewProblem(http.StatusRequestEntityTooLarge, field, detail)
	}
	return NewProblem(http.StatusBadRequest, field, detail)
}

func caused(status int, detail string, cause error) *Problem {
	p := NewProblem(status, "", detail)
	p.cause = cause
	return p
}

func statusSentence(status int) string {
	switch status {
	case http.StatusNotFound:
		return "there is nothing at this address; /openapi.yaml lists what there is"
	case http.StatusMethodNotAllowed:
		return "this address does not take this method; the header Allow lists those it takes"
	}
	return http.StatusText(status)
}
