package exposure

import (
	"errors"
	"fmt"
)

// Limits of a request or an event.
const (
	MaxIDBytes = 256     // bytes of an id, a user or a scene
	MaxItems   = 20_000  // ids a request
	MaxBody    = 8 << 20 // bytes of a request
)

// Errors a caller decides on. All others are failures of the machine under us.
var (
	ErrFull     = errors.New("exposure: the event log is full, report again later")
	ErrClosed   = errors.New("exposure: the store is closed")
	ErrNotReady = errors.New("exposure: the store is still replaying its log")
	// ErrPartition: the user's events go to another owner, who is to be asked.
	ErrPartition = errors.New("exposure: another partition's user")
)

// Fault says what is wrong with a request.
type Fault uint8

const (
	Malformed Fault = iota // not JSON, not UTF-8, a lone surrogate: HTTP 400
	Invalid                // well-formed, but a field is missing, mistyped or out of range: 422
	TooLarge               // over a limit: 413
)

// RequestError is an error of the caller's, naming the field it is about.
type RequestError struct {
	Fault  Fault
	Field  string // snake_case, empty where no field can be named
	Detail string // a sentence a person can act on
}

func (e *RequestError) Error() string {
	if e.Field == "" {
		return "exposure: " + e.Detail
	}
	return "exposure: " + e.Field + ": " + e.Detail
}

func malformed(field, format string, args ...any) error {
	return &RequestError{Malformed, field, fmt.Sprintf(format, args...)}
}

func invalid(field, format string, args ...any) error {
	return &RequestError{Invalid, field, fmt.Sprintf(format, args...)}
}

func tooLarge(field, format string, args ...any) error {
	return &RequestError{TooLarge, field, fmt.Sprintf(format, args...)}
}

// checkName holds users and scenes to the same rule as ids.
func checkName(field, v string, required bool) error {
	switch {
	case v == "" && required:
		return invalid(field, "is missing")
	case len(v) > MaxIDBytes:
		return tooLarge(field, "has %d bytes, the limit is %d", len(v), MaxIDBytes)
	}
	return nil
}
