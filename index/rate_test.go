package index

import (
	"strings"
	"testing"
	"time"

	"jianguo/compare"
)

// TestBusy: a long text counts as many, so that the work behind the writer rests for it too.
func TestBusy(t *testing.T) {
	x := openTest(t, t.TempDir(), nil)
	defer func() { _ = x.Close() }()
	a := &Article{ID: "long", Text: compare.Text{Body: strings.Repeat("长", 100<<10)}}
	if x.Busy() {
		t.Error("an index is busy before anything arrives")
	}
	for n := 0; !x.Busy(); n++ { // a few are enough; while they come slowly, others are needed
		if err := x.CompareAhead(t.Context(), a, time.Now()); err != nil || n == 50 {
			t.Fatalf("not busy after %d articles of 300 KB: %v", n, err)
		}
	}
}
