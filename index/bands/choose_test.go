package bands

import (
	"math/bits"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"jianguo/simhash"
)

// TestChoose compares the choice with a list of all subsets, for every number of probes
// and any end of the previous look-up. Texts of few features have few different margins,
// so the number of subsets below a cost grows in large steps.
func TestChoose(t *testing.T) {
	var m margin // starts with the guess of the previous look-up
	rapid.Check(t, func(t *rapid.T) {
		levels := rapid.SliceOfN(rapid.Float32Range(0, 2), 1, 5).Draw(t, "margins")
		var p simhash.Print
		for i := range p.Margins {
			p.Margins[i] = levels[rapid.IntRange(0, len(levels)-1).Draw(t, "level")]
		}
		n := rapid.IntRange(1, 600).Draw(t, "probes") // see cheapest
		m.prepare(&p, rapid.Float32Range(0.01, 12).Draw(t, "S"))
		end := subset(m.limit/bandCount+1) << 18
		if rapid.Bool().Draw(t, "another guess") {
			m.guess = subset(rapid.Uint64Range(0, uint64(end)).Draw(t, "guess"))
		}
		m.choose(n)
		if want := cheapest(&m, end, n); !slices.Equal(slices.Sorted(slices.Values(m.probes)), want) {
			t.Fatalf("%d probes of %d: %x, and the cheapest are %x", len(m.probes), n, m.probes, want)
		}
	})
}

// TestChooseLeaps is one text of one feature: of 160 probes 68 flip one bit at most, and
// 548 two.
func TestChooseLeaps(t *testing.T) {
	var s simhash.Sum
	s.Add(0x0123_4567_89ab_cdef, 1)
	p := s.Print()
	for maxS := float32(0.25); maxS < simhash.Bits; maxS *= 1.1 {
		for n := 1; n < 600; n += 7 {
			var m margin
			m.prepare(&p, maxS)
			m.choose(n)
			if len(m.probes) == 0 || len(m.probes) > n {
				t.Fatalf("%d probes of %d where S is %v", len(m.probes), n, maxS)
			}
		}
	}
}

// cheapest returns the n cheapest subsets below end, in order.
func cheapest(m *margin, end subset, n int) []subset {
	var all []subset
	for flips := range 1 << bandBits {
		if bits.OnesCount(uint(flips)) > 9 {
			continue // each set of some of its bits is cheaper, and there are more than n
		}
		for band := range bandCount {
			if s := m.subset(band, uint16(flips)); s < end {
				all = append(all, s)
			}
		}
	}
	slices.Sort(all)
	return all[:min(n, len(all))]
}
