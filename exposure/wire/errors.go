package wire

import "fmt"

// Limits of a request or a report.
const (
	MaxIDBytes = 256     // bytes of an id, a user or a scene
	MaxItems   = 20_000  // ids
	MaxBody    = 8 << 20 // bytes of a body
)

// Error is a mistake of the client, in one field.
type Error struct {
	TooLarge bool   // a limit was passed
	Field    string // snake_case, empty where no field can be named
	Detail   string // a sentence that tells the client what to change
}

func (e *Error) Error() string {
	if e.Field == "" {
		return "exposure: " + e.Detail
	}
	return "exposure: " + e.Field + ": " + e.Detail
}

// Invalidf is an Error about a field that is wrong or missing.
func Invalidf(field, format string, args ...any) error {
	return &Error{false, field, fmt.Sprintf(format, args...)}
}

// TooLargef is an Error about a limit.
func TooLargef(field, format string, args ...any) error {
	return &Error{true, field, fmt.Sprintf(format, args...)}
}

// CheckName holds users and scenes to the same rule as ids.
func CheckName(field, v string, required bool) error {
	switch {
	case v == "" && required:
		return Invalidf(field, "is missing")
	case len(v) > MaxIDBytes:
		return TooLargef(field, "has %d bytes, the limit is %d", len(v), MaxIDBytes)
	}
	return nil
}
