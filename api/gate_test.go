package api

import (
	"errors"
	"net/http"
	"testing"
	"testing/synctest"
	"time"
)

// TestGateFollowsPatience: while requests take too long fewer are admitted, but never
// fewer than the least; when they are quick again, as many as before. What is slow without
// any waiting is no reason to admit fewer.
func TestGateFollowsPatience(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		g := newAdaptiveGate(100*time.Millisecond, 16, 256)
		// flood keeps the gate full of requests that take a time which depends on how many
		// are inside, and returns how many were admitted at once in the end.
		flood := func(takes func(inside int) time.Duration) (inside int) {
			for range 200 {
				var places []*place
				for {
					p, err := g.enter()
					var refused *Problem
					if errors.As(err, &refused) && refused.Status == http.StatusTooManyRequests && refused.retryAfter != "" {
						break
					}
					if err != nil {
						t.Fatal(err)
					}
					places = append(places, p)
				}
				inside = len(places)
				time.Sleep(takes(inside))
				for _, p := range places {
					p.leave()
				}
			}
			return inside
		}
		if inside := flood(func(int) time.Duration { return 10 * time.Millisecond }); inside != 256 {
			t.Errorf("of quick requests %d are admitted at once", inside)
		}
		if inside := flood(func(n int) time.Duration { return time.Duration(n) * 4 * time.Millisecond }); inside < 16 || inside > 40 {
			t.Errorf("of requests that wait for each other, 4 ms each, %d are admitted at once", inside)
		}
		if inside := flood(func(int) time.Duration { return time.Second }); inside != 16 {
			t.Errorf("of requests that have become slow %d are admitted at once", inside)
		}
		if inside := flood(func(int) time.Duration { return 10 * time.Millisecond }); inside != 256 {
			t.Errorf("of quick requests %d are admitted at once afterwards", inside)
		}
		slow := newAdaptiveGate(100*time.Millisecond, 16, 256)
		*g = gate{least: slow.least, most: slow.most, bound: slow.bound, patience: slow.patience, quickest: slow.quickest}
		if inside := flood(func(int) time.Duration { return time.Second }); inside != 256 {
			t.Errorf("of requests that always take a second %d are admitted at once", inside)
		}
	})
}

// inside is how many requests are admitted.
func (g *gate) inside() int {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.admitted
}
