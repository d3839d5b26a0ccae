package index

import (
	"strings"
	"testing"
	"time"

	"jianguo/compare"
)

// TestArriving: a long text counts as many, so that the work behind the writer rests for it too.
func TestArriving(t *testing.T) {
	x := openTest(t, t.TempDir(), nil)
	defer func() { _ = x.Close() }()
	a := &Article{ID: "long", Text: compare.Text{Body: strings.Repeat("长", 100<<10)}}
	if err := x.Preview(t.Context(), a, time.Now()); err != nil {
		t.Fatal(err)
	}
	if x.rate.now < 30 {
		t.Errorf("an article of 300 KB counts as %d", x.rate.now)
	}
}

func TestRateLately(t *testing.T) {
	var r rate
	at := time.Unix(1000, 0)
	r.add(at, 7)
	for after, want := range []int64{7, 7, 3, 0, 0} {
		if after == 1 {
			r.add(at.Add(time.Second), 3)
		}
		if got := r.lately(at.Add(time.Duration(after) * time.Second)); got != want {
			t.Errorf("%d s after the first: %d, want %d", after, got, want)
		}
	}
	r.add(at.Add(time.Hour), 2)
	if got := r.lately(at.Add(2 * time.Hour)); got != 0 {
		t.Errorf("an hour later: %d", got)
	}
}
