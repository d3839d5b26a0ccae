// Package wait waits for a time or for the end of a context.
package wait

import (
	"context"
	"time"
)

// For waits. It returns the error of a context that ends first.
func For(ctx context.Context, d time.Duration) error {
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(d):
		return nil
	}
}
