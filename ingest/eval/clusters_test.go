package eval

import (
	"math/rand/v2"
	"strconv"
	"testing"
)

// TestAdjustedRand compares the index with one that is computed from every pair of items
// (Hubert & Arabie 1985), and with the two values that are known.
func TestAdjustedRand(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	for range 200 {
		n := 2 + r.IntN(20)
		a, b := map[string]string{}, map[string]string{}
		for i := range n {
			a[strconv.Itoa(i)], b[strconv.Itoa(i)] = strconv.Itoa(r.IntN(1+n/2)), strconv.Itoa(r.IntN(1+n/2))
		}
		var both, onlyA, onlyB, neither float64
		for i := range n {
			for k := range i {
				x, y := strconv.Itoa(i), strconv.Itoa(k)
				switch sameA, sameB := a[x] == a[y], b[x] == b[y]; {
				case sameA && sameB:
					both++
				case sameA:
					onlyA++
				case sameB:
					onlyB++
				default:
					neither++
				}
			}
		}
		want := 1.0
		if down := (both+onlyA)*(onlyA+neither) + (both+onlyB)*(onlyB+neither); down != 0 {
			want = 2 * (both*neither - onlyA*onlyB) / down
		}
		if got := adjustedRand(a, b); got-want > 1e-9 || want-got > 1e-9 {
			t.Fatalf("%v and %v: %v, want %v", a, b, got, want)
		}
		if got := adjustedRand(a, a); got != 1 {
			t.Fatalf("the same clusters: %v", got)
		}
	}
}
