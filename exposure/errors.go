package exposure

import (
	"errors"

	"jianguo/exposure/eventlog"
	"jianguo/exposure/link"
	"jianguo/exposure/policy"
	"jianguo/exposure/state"
	"jianguo/exposure/wire"
)

// Limits of a request or an event.
const (
	MaxIDBytes = wire.MaxIDBytes // bytes of an id, a user or a scene
	MaxItems   = wire.MaxItems   // ids a request
	MaxBody    = wire.MaxBody    // bytes of a request
)

// RingSize is the number of delivered ids remembered exactly, and therefore the
// largest Max that a request with Mark may have.
const RingSize = state.RingSize

// A Policy says how much of a history is kept; see package policy.
type Policy = policy.Policy

// The kinds of policies.
const (
	Rotate   = policy.Rotate
	Calendar = policy.Calendar
)

// ParsePolicy reads a policy as package policy describes it.
func ParsePolicy(s string) (Policy, error) { return policy.Parse(s) }

// Errors that a caller decides on. All others are failures of the machine.
var (
	ErrFull       = eventlog.ErrFull
	ErrClosed     = errors.New("exposure: the store is closed")
	ErrLink       = link.ErrRefused
	ErrCorrupt    = state.ErrCorrupt // wrapped by every error about stored bytes that cannot be right
	ErrExceptions = state.ErrExceptions
	ErrNotReady   = errors.New("exposure: the store is still replaying its log")
)
