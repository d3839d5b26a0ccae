package exposure

import (
	"errors"

	"jianguo/exposure/eventlog"
	"jianguo/exposure/link"
	"jianguo/exposure/wire"
)

// Limits of a request or an event.
const (
	MaxIDBytes = wire.MaxIDBytes // bytes of an id, a user or a scene
	MaxItems   = wire.MaxItems   // ids a request
	MaxBody    = wire.MaxBody    // bytes of a request
)

// Errors that a caller decides on. All others are failures of the machine.
var (
	ErrFull     = eventlog.ErrFull
	ErrClosed   = errors.New("exposure: the store is closed")
	ErrLink     = link.ErrRefused
	ErrNotReady = errors.New("exposure: the store is still replaying its log")
)
