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
	if err := x.CompareAhead(t.Context(), a, time.Now()); err != nil {
		t.Fatal(err)
	}
	if n := x.Arriving(); n < 30 {
		t.Errorf("an article of 300 KB counts as %d", n)
	}
}
