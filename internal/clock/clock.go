// Package clock waits, and tells the time by which stored data expires.
package clock

import (
	"context"
	"time"
)

// Sleep waits for a time. It returns the error of a context that ends first.
func Sleep(ctx context.Context, d time.Duration) error {
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(d):
		return nil
	}
}
