package index

import (
	"sync"
	"time"
)

// rate counts events in each of the last rateSpan seconds.
type rate struct {
	mu     sync.Mutex
	counts [rateSpan]int64 // guarded by mu, like all fields
	starts [rateSpan]int64 // the second of each count
	began  int64
}

const rateSpan = 60

func (r *rate) add(at time.Time, n int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	now := at.Unix()
	if r.began == 0 {
		r.began = now
	}
	i := now % rateSpan
	if r.starts[i] != now {
		r.starts[i], r.counts[i] = now, 0
	}
	r.counts[i] += int64(n)
}

// perMinute returns the number of events in the last minute, and the part of this
// minute that was counted: less than a minute right after a start.
func (r *rate) perMinute(at time.Time) (n int64, watched time.Duration) {
	r.mu.Lock()
	defer r.mu.Unlock()
	now := at.Unix()
	for i, second := range r.starts {
		if second <= now && now-second < rateSpan {
			n += r.counts[i]
		}
	}
	return n, time.Duration(min(rateSpan, max(0, now-r.began+1))) * time.Second
}

// lately returns the number of events in the last complete second, or in the present
// second if that is higher.
func (r *rate) lately(at time.Time) int64 {
	r.mu.Lock()
	defer r.mu.Unlock()
	n := int64(0)
	for _, second := range [2]int64{at.Unix() - 1, at.Unix()} {
		if i := second % rateSpan; r.starts[i] == second {
			n = max(n, r.counts[i])
		}
	}
	return n
}
