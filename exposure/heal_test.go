package exposure

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"jianguo/exposure/state"
	"jianguo/internal/testbed"
)

// TestHeal: flushes fail again and again while clients report and filter. The store resumes
// each time, and no answer that is not degraded returns what was reported before the request.
func TestHeal(t *testing.T) {
	var faults atomic.Int64
	most := int64(testbed.Count(12, 25, 25))
	points := []string{"flush-begin", "flush-write", "flush-commit", "flush-committed"}
	var calls atomic.Int64
	f := newFixture(t, Config{Policies: map[string]state.Policy{"": {Slots: 4, Capacity: 64, Tail: 16}}, FlushAge: 2 * time.Millisecond,
		HealAfter: time.Millisecond, CacheBytes: 1 << 16, Fail: func(point string) error {
			if point == "appended" {
				return nil
			}
			if n := calls.Add(1); n%7 == 0 && point == points[n/7%int64(len(points))] {
				faults.Add(1)
				return errors.New("broken at " + point)
			}
			return nil
		}})
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	var whole, degraded, refused atomic.Int64
	var wg sync.WaitGroup
	for client := range 4 {
		wg.Go(func() {
			var held []string
			user := fmt.Sprint("user-", client)
			for n := 0; faults.Load() < most && ctx.Err() == nil; n++ {
				id := fmt.Sprint("item-", n)
				if len(held) > 100 { // before the oldest shard goes
					user, held = fmt.Sprint("user-", client, "-", n), nil
				}
				if err := f.Expose(ctx, Event{Kind: state.Seen, User: user, Items: []string{id}}); err != nil {
					refused.Add(1)
				} else {
					held = append(held, id)
				}
				r, err := f.Filter(ctx, Request{User: user, Items: held})
				switch {
				case len(held) == 0:
				case err != nil:
					t.Error(err)
				case r.Degraded != "":
					degraded.Add(1)
				default:
					whole.Add(1)
					if len(r.Items) > 0 {
						t.Errorf("%s: %q came back", user, r.Items)
					}
				}
			}
		})
	}
	wg.Wait()
	t.Logf("%d flushes failed; %d answers were whole, %d degraded; %d reports were refused", faults.Load(), whole.Load(), degraded.Load(), refused.Load())
	if ctx.Err() != nil || whole.Load() == 0 {
		t.Errorf("too little was tried: %v", ctx.Err())
	}
	waitReady(t, f.Store)
}
