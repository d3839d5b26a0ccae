package segment

import (
	"strings"
	"testing"
)

// A normal form ends where it has more bytes than may be.
func TestMaxForm(t *testing.T) {
	var text Text
	shipped().Analyze(&text, strings.Repeat("ﷺ", 50_000), "<p>"+strings.Repeat("ﷺe\u0301", 50_000))
	if n := len(text.Title) + len(text.Body); n <= MaxForm || n > 2*MaxForm+100 {
		t.Errorf("%d bytes", n)
	}
	if f := shipped().Trace("", strings.Repeat("ﷺ", 50_000)).Form; len(f) > MaxForm+100 {
		t.Errorf("a trace has %d bytes", len(f))
	}
}
