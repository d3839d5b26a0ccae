package svg

import (
	"encoding/xml"
	"errors"
	"io"
	"slices"
	"strings"
	"testing"
)

func TestWrite(t *testing.T) {
	line := Series{Name: "a < b", Colour: Blue, Points: []Point{{0, 0}, {10, 100}}}
	marks := Series{Name: "marks", Colour: Orange, Marks: true, Points: []Point{{5, 50}, {5, 500}}}
	var b strings.Builder
	if err := Write(&b, Chart{Title: "t", MaxX: 10, MaxY: 100, Series: []Series{line, marks}}, Chart{}); err != nil {
		t.Fatal(err)
	}
	// The line runs from the lower left to the upper right of the axes, and the
	// point outside of them is left out.
	for _, want := range []string{"M60.0,335.0L520.0,30.0", "M290.0,182.5" + circle + `"`, "a &lt; b"} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("%q is not in %s", want, b.String())
		}
	}
	for d := xml.NewDecoder(strings.NewReader(b.String())); ; {
		if _, err := d.Token(); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			t.Fatal(err)
		}
	}
}

func TestTicks(t *testing.T) {
	for end, want := range map[float64][]float64{1: {0, .2, .4, .6, .8, 1}, 50: {0, 10, 20, 30, 40, 50}, 12: {0, 2, 4, 6, 8, 10, 12}, 0: {0}} {
		if got := ticks(end); end > 0 && !slices.EqualFunc(got, want, func(a, b float64) bool { return a-b < 1e-9 && b-a < 1e-9 }) {
			t.Errorf("%g: %v, want %v", end, got, want)
		}
	}
}
