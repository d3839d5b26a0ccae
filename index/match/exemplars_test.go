package match

import (
	"math/rand/v2"
	"strings"
	"testing"

	"jianguo/compare"
)

// TestCacheIsBounded: the cache stays within its bound in bytes and counts them
// correctly, for texts of any length.
func TestCacheIsBounded(t *testing.T) {
	r := newExemplars(new(Config))
	rng := rand.New(rand.NewPCG(1, 2))
	text := strings.Repeat("长", 170_000)
	for range 3000 {
		ordinal := uint32(rng.IntN(2000))
		switch rng.IntN(10) {
		case 0:
			r.Uncache(ordinal)
		case 1:
			r.put(ordinal, new(exemplar))
		default:
			r.put(ordinal, &exemplar{text: &compare.Text{Body: text[:3*rng.IntN(170_000)], Words: make([]int32, 9)}})
		}
		var want int64
		if rng.IntN(50) == 0 {
			for _, e := range r.cache.Values() {
				want += e.size()
			}
			if r.bytes != want || want > cachedBytes {
				t.Fatalf("%d bytes are counted, %d are there, %d are allowed", r.bytes, want, cachedBytes)
			}
		}
	}
	if r.cache.Len() < 100 || r.cache.Len() > 1000 {
		t.Fatalf("%d exemplars are cached", r.cache.Len())
	}
}
