package index

import (
	"testing"
	"time"
)

func TestRate(t *testing.T) {
	var r rate
	start := time.Unix(1_800_000_000, 0)
	r.add(start, 0)
	for s := range 150 {
		r.add(start.Add(time.Duration(s)*time.Second), 3)
		r.add(start.Add(time.Duration(s)*time.Second+time.Second/2), 1)
		if n, watched := r.perMinute(start.Add(time.Duration(s) * time.Second)); n != int64(4*min(s+1, 60)) || watched != time.Duration(min(s+1, 60))*time.Second {
			t.Fatalf("after %d seconds there were %d in %v", s, n, watched)
		}
	}
	if n, _ := r.perMinute(start.Add(179 * time.Second)); n != 4*30 {
		t.Errorf("half a minute later there were %d", n)
	}
	if n, _ := r.perMinute(start.Add(time.Hour)); n != 0 {
		t.Errorf("an hour later there were %d", n)
	}
}

func TestRateLately(t *testing.T) {
	var r rate
	at := time.Unix(1000, 0)
	r.add(at, 7)
	r.add(at.Add(time.Second), 3)
	for after, want := range map[time.Duration]int64{0: 7, time.Second: 7, 2 * time.Second: 3, 3 * time.Second: 0, rateSpan * time.Second: 0} {
		if got := r.lately(at.Add(after)); got != want {
			t.Errorf("%v after the first: %d, want %d", after, got, want)
		}
	}
}
