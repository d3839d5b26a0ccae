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
