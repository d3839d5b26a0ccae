// Package wrap says of an error what failed.
package wrap

import "fmt"

// Err is the error with what failed before it, as fmt.Errorf makes it; nil stays nil. So a function whose last step
// may fail ends with one line.
func Err(err error, what string, args ...any) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%s: %w", fmt.Sprintf(what, args...), err)
}
