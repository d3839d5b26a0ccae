//go:build !purego

package kernel

import (
	"math/rand/v2"
	"testing"
	"unsafe"
)

// TestLocations holds the locations of the assembly, and of plain Go, to a division, for
// moduli of all sizes and for numbers near those where the quotient changes.
func TestLocations(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 1))
	for round := range 4000 {
		m := 64 + rng.Uint64N(1<<(6+round%14))
		switch round % 50 {
		case 0:
			m = 1 << 19
		case 1:
			m = 1<<19 - rng.Uint64N(100)
		case 2:
			m = 64
		}
		m = min(m, 1<<19)
		number := func() uint64 {
			x := rng.Uint64() >> (rng.IntN(4) * 16)
			switch rng.IntN(4) {
			case 0:
				return ^uint64(0) - x%3
			case 1:
				return x/m*m + x%3 - 1
			case 2:
				return x | 0xffffffff
			}
			return x
		}
		n := 1 + rng.IntN(restKeys)
		// The order of w.hashes: see offsets.
		var w work
		h := make([]hashes, (n+7)/8*8)
		raw := (*[4 * batch]uint64)(unsafe.Pointer(&w.hashes))
		for i := range h {
			h[i] = hashes{number(), number(), number(), number()}
			at := i/8*32 + [8]int{0, 1, 4, 5, 2, 3, 6, 7}[i%8]
			raw[at], raw[at+8], raw[at+16], raw[at+24] = h[i].h0, h[i].h1, h[i].h2, h[i].h3
		}
		for _, h := range h {
			for l := range uint64(4 + restLocations) {
				if got, want := newModulus(m).reduce(h.at(l)), h.at(l)%m; got != want {
					t.Fatalf("location %d of %x mod %d in plain Go: %d, want %d", l, h, m, got, want)
				}
			}
		}
		if !haveAVX2 {
			continue
		}
		d, k := newDivisor(m), 5+rng.Uint64N(restLocations)
		check := func(i int, l, first, count uint64) {
			at := i/8*8*int(count) + int(l-first)*8 + i%8
			if got, want := uint64(w.locations[at]), h[i].at(l)%m; got != want {
				t.Fatalf("location %d of %x mod %d: %d, want %d", l, h[i], m, got, want)
			}
		}
		locationsAVX2(&w.hashes[0], &offsets[0], n, 0, 4, &d, &w.locations[0])
		for i := range n {
			for l := range uint64(4) {
				check(i, l, 0, 4)
			}
		}
		locationsAVX2(&w.hashes[0], &offsets[0], n, 4, k, &d, &w.locations[0])
		for i := range n {
			for l := uint64(4); l < k; l++ {
				check(i, l, 4, k-4)
			}
		}
	}
}
