package clock

import (
	"sync"
	"time"
)

// Rate counts events in this second and the one before.
type Rate struct {
	mu          sync.Mutex
	second      int64 // guarded by mu, like all fields
	now, before int64
}

func (r *Rate) Add(at time.Time, n int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.turn(at)
	r.now += int64(n)
}

// Lately returns the number of events in the last complete second, or in the present
// second if that is higher.
func (r *Rate) Lately(at time.Time) int64 {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.turn(at)
	return max(r.now, r.before)
}

func (r *Rate) turn(at time.Time) {
	if second := at.Unix(); second != r.second {
		r.now, r.before = 0, r.now
		if second != r.second+1 {
			r.before = 0
		}
		r.second = second
	}
}
