package bus

import (
	"context"
	"log/slog"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
)

// TestRetryWhileAwayEnds: a start that waits for its bus ends when it is told to.
func TestRetryWhileAwayEnds(t *testing.T) {
	t.Parallel()
	ctx, end := context.WithTimeout(t.Context(), 10*time.Millisecond)
	defer end()
	tries := 0
	err := RetryWhileAway(ctx, slog.New(slog.DiscardHandler), time.Minute, func() error { tries++; return nats.ErrTimeout })
	if err != nats.ErrTimeout || tries != 1 {
		t.Errorf("%v after %d tries", err, tries)
	}
}
