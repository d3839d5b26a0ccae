package browse

import (
	"context"
	"errors"
	"testing"
	"time"
)

// TestPace: background work pauses after some time if many mutations arrive, and a pause
// ends with its context.
func TestPace(t *testing.T) {
	ended, end := context.WithCancel(t.Context())
	end()
	now := time.Now()
	quiet := func() bool { return false }
	busy := func() bool { return true }
	for name, c := range map[string]struct {
		p     *pace
		rests bool
	}{
		"few come":      {&pace{quiet, now.Add(-time.Hour)}, false},
		"work is young": {&pace{busy, now.Add(time.Hour)}, false},
		"many come":     {&pace{busy, now.Add(-time.Hour)}, true},
	} {
		if err := c.p.rest(ended); errors.Is(err, context.Canceled) != c.rests {
			t.Errorf("%s: %v", name, err)
		}
	}
}
