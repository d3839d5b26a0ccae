package index

import (
	"sync"
	"time"
)

// rate counts what happened in each of the last rateSpan seconds.
type rate struct {
	mu      sync.Mutex
	counts  [rateSpan]int64 // guarded by mu, as all of it
	seconds [rateSpan]int64 // which second a count is of
	began   int64
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
	if r.seconds[i] != now {
		r.seconds[i], r.counts[i] = now, 0
	}
	r.counts[i] += int64(n)
}

// perMinute is how many there were in the last minute, and how much of it has
// been watched: less than a minute after a start.
func (r *rate) perMinute(at time.Time) (n int64, watched time.Duration) {
	r.mu.Lock()
	defer r.mu.Unlock()
	now := at.Unix()
	for i, second := range r.seconds {
		if second <= now && now-second < rateSpan {
			n += r.counts[i]
		}
	}
	return n, time.Duration(min(rateSpan, max(0, now-r.began+1))) * time.Second
}

// lately is how many there were in the last whole second, or in this one where
// those are more.
func (r *rate) lately(at time.Time) int64 {
	r.mu.Lock()
	defer r.mu.Unlock()
	n := int64(0)
	for _, second := range [2]int64{at.Unix() - 1, at.Unix()} {
		if i := second % rateSpan; r.seconds[i] == second {
			n = max(n, r.counts[i])
		}
	}
	return n
}
