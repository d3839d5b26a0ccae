package index

import (
	"testing"
	"time"
)

func TestRateLately(t *testing.T) {
	var r rate
	at := time.Unix(1000, 0)
	r.add(at, 7)
	r.add(at.Add(time.Second), 3)
	for after, want := range map[time.Duration]int64{0: 7, time.Second: 7, 2 * time.Second: 3, 3 * time.Second: 0, time.Minute: 0} {
		if got := r.lately(at.Add(after)); got != want {
			t.Errorf("%v after the first: %d, want %d", after, got, want)
		}
	}
}
