package ingestbench

import (
	"testing"
	"time"
)

func TestQuarters(t *testing.T) {
	start := time.Unix(1000, 0)
	after := func(seconds ...float64) (came []time.Time) {
		for _, s := range seconds {
			came = append(came, start.Add(time.Duration(s*float64(time.Second))))
		}
		return came
	}
	for _, c := range []struct {
		came []time.Time
		want [4]float64
	}{
		{nil, [4]float64{}},
		{after(2), [4]float64{0, 0, 0, .5}},
		{after(8, 2, 1, 4), [4]float64{1, 1, .5, .25}}, // in any order
		{after(1, 1, 2, 2, 2, 2, 3, 4), [4]float64{2, 2, 0, 1}},
	} {
		if got := quarters(start, c.came); got != c.want {
			t.Errorf("%v: %v, want %v", c.came, got, c.want)
		}
	}
}
