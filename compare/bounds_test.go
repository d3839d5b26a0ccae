package compare

import (
	"math/rand/v2"
	"strings"
	"testing"
)

// Names at thousands of places of a long text are sought within seekWork, and a headline counts up to headlineMost.
func TestSeekWork(t *testing.T) {
	text := func(seed uint64) *Text {
		same, own := rand.New(rand.NewPCG(7, 7)), rand.New(rand.NewPCG(seed, 7))
		han := func(r *rand.Rand, n int) string {
			var b strings.Builder
			for range n {
				b.WriteRune(rune(0x4e00 + r.IntN(6000)))
			}
			return b.String()
		}
		var b strings.Builder
		for b.Len() < 200<<10 {
			b.WriteString(han(same, 8) + han(own, 2))
		}
		words := make([]int32, b.Len()/3)
		for i := range words {
			words[i] = int32(2 * 3 * i) // none is in the dictionary
		}
		return &Text{Title: b.String(), Body: b.String(), Words: words}
	}
	x := Align(NewDoc(text(1)), NewDoc(text(2)))
	if g := x.Agreement(); len(g.Conflicts) < 10 || len(g.Conflicts) > seekWork/(400<<10) {
		t.Errorf("%d conflicts", len(g.Conflicts))
	}
	if n := len(x.Later.title); n > headlineMost {
		t.Errorf("%d tokens of the headline", n)
	}
}
