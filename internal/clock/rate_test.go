package clock

import (
	"testing"
	"time"
)

func TestRateLately(t *testing.T) {
	var r Rate
	at := time.Unix(1000, 0)
	r.Add(at, 7)
	for after, want := range []int64{7, 7, 3, 0, 0} {
		if after == 1 {
			r.Add(at.Add(time.Second), 3)
		}
		if got := r.Lately(at.Add(time.Duration(after) * time.Second)); got != want {
			t.Errorf("%d s after the first: %d, want %d", after, got, want)
		}
	}
	r.Add(at.Add(time.Hour), 2)
	if got := r.Lately(at.Add(2 * time.Hour)); got != 0 {
		t.Errorf("an hour later: %d", got)
	}
}
