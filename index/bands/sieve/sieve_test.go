package sieve

import (
	"math/rand/v2"
	"slices"
	"testing"
)

// FuzzSift compares Sift with sums of the costs, with and without free memory after the
// last posting.
func FuzzSift(f *testing.F) {
	for seed := range uint64(50) {
		f.Add(seed, uint16(seed*37), uint16(seed*3), uint16(seed*5))
	}
	f.Fuzz(func(t *testing.T, seed uint64, n, next, both uint16) {
		r := rand.New(rand.NewPCG(seed, 1))
		hi := make([]uint32, int(n)%(Step+1), Step+8)
		if r.IntN(2) == 0 {
			hi = slices.Clip(hi)
		}
		query := r.Uint32()
		for i := range hi {
			hi[i] = query ^ r.Uint32()&r.Uint32()&r.Uint32()
		}
		var tables Tables
		for i := range tables {
			for j := range tables[i] {
				for x := 1; x < 16; x++ {
					tables[i][j][x] = uint8(r.Uint32())
				}
			}
		}
		bounds := Bounds{uint32(next) % 1024, uint32(both) % 2048}
		var masks, want Masks
		for i := range masks {
			masks[i] = r.Uint64() // left by the previous call
		}
		got := Sift(&masks, hi, query, &tables, bounds)
		for i, h := range hi {
			cost := [2]uint32{}
			for k := range 8 {
				cost[k/4] += uint32(tables[k/4][k%4][(h^query)>>(28-4*k)&15])
			}
			if cost[0] < bounds.Next && cost[0]+cost[1] < bounds.Both {
				want[i/64] |= 1 << (i % 64)
			}
		}
		if !slices.Equal(got, want[:len(got)]) || len(got) != (len(hi)+63)/64 {
			t.Fatalf("%d postings: %x, want %x", len(hi), got, want)
		}
	})
}
