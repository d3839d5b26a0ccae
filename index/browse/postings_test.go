package browse

import (
	"math/rand/v2"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

func TestSortPostings(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		// Masks make digits equal, as the upper ones of ordinals are.
		mask := rapid.Uint64().Draw(t, "mask")
		p := rapid.SliceOfN(rapid.Custom(func(t *rapid.T) wordPosting { return wordPosting(rapid.Uint64().Draw(t, "p") & mask) }), 0, 300).Draw(t, "postings")
		want := slices.Sorted(slices.Values(p))
		if got := sortPostings(p); !slices.Equal(got, want) {
			t.Fatalf("%x, and in order %x", got, want)
		}
	})
}

// BenchmarkSortPostings sorts what a batch of articles has, with slices.Sort beside it.
func BenchmarkSortPostings(b *testing.B) {
	const versions, words = 1600, 350
	rng := rand.New(rand.NewPCG(1, 2))
	var from []wordPosting
	for v := range versions {
		for range words {
			from = append(from, wordPosting(rng.Uint32()%100_000*40_503)<<32|wordPosting(1_000_000+v))
		}
	}
	work := make([]wordPosting, len(from))
	for name, sort := range map[string]func(){"radix": func() { sortPostings(work) }, "slices": func() { slices.Sort(work) }} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				copy(work, from)
				sort()
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*len(from)), "ns/posting")
		})
	}
}
