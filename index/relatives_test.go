package index

import (
	"math/rand/v2"
	"strings"
	"testing"

	"jianguo/sketch"
)

// TestRelativesAreBounded: whatever the length of texts, the cache keeps within
// its bytes, and counts them right.
func TestRelativesAreBounded(t *testing.T) {
	r := newRelatives(func(title, body string) sketch.Input { return sketch.Input{} })
	rng := rand.New(rand.NewPCG(1, 2))
	text := strings.Repeat("长", 170_000)
	for range 3000 {
		ordinal := uint32(rng.IntN(2000))
		switch rng.IntN(10) {
		case 0:
			r.forget(ordinal)
		case 1:
			r.put(ordinal, new(relative))
		default:
			r.put(ordinal, &relative{text: sketch.Input{Body: text[:3*rng.IntN(170_000)], Names: []string{"名"}}})
		}
		var want int64
		if rng.IntN(50) == 0 {
			for _, rel := range r.cache.Values() {
				want += rel.size()
			}
			if r.bytes != want || want > relativesBytes {
				t.Fatalf("%d bytes are counted, %d are there, %d are allowed", r.bytes, want, relativesBytes)
			}
		}
	}
	if r.cache.Len() < 100 || r.cache.Len() > 1000 {
		t.Fatalf("%d relatives are kept", r.cache.Len())
	}
}
