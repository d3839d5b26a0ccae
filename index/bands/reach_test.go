package bands

import (
	"math"
	"math/rand/v2"
	"testing"

	"jianguo/simhash"
)

// TestReach compares the answer of a Reach for every posting with the hits of the
// look-up, at sizes below and above that of the full budget.
func TestReach(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	b := New(Config{Full: 2000})
	var all []Hit
	met := 0
	for round := range 60 {
		centre := r.Uint64()
		for range 100 {
			h := Hit{simhash.Fingerprint(centre), uint32(len(all) + 1)}
			for range r.IntN(14) {
				h.Fingerprint ^= 1 << r.IntN(64)
			}
			all = append(all, h)
			b.Add(h.Fingerprint, h.Ordinal)
		}
		var p simhash.Print
		p.Fingerprint = simhash.Fingerprint(centre)
		for i := range p.Margins {
			p.Margins[i] = float32(math.Abs(r.NormFloat64()))
			if round%5 == 0 {
				p.Margins[i] = float32(r.IntN(8)) / 4
			}
		}
		maxS := []float32{8, 2, 0.5, 64}[round%4]
		var reach Reach
		hits, _ := b.Margin(nil, &p, maxS, math.MaxInt, &reach)
		found := map[uint32]bool{}
		for _, h := range hits {
			found[h.Ordinal] = true
		}
		met += len(hits)
		for _, h := range all {
			s, ok := reach.Meets(h.Fingerprint)
			if ok != found[h.Ordinal] {
				t.Fatalf("round %d: posting %v at S %v: met %v, found %v", round, h, p.S(h.Fingerprint), ok, found[h.Ordinal])
			}
			if ok && s != p.S(h.Fingerprint) {
				t.Fatalf("S is %v, want %v", s, p.S(h.Fingerprint))
			}
		}
		if !reach.Holds(b) {
			t.Fatal("nothing was added, and the reach no longer holds")
		}
	}
	if met < 1000 {
		t.Fatalf("only %d were met: this proves little", met)
	}
	var reach Reach
	b.Margin(nil, &simhash.Print{}, 8, 5, &reach)
	if _, ok := reach.Meets(0); ok {
		t.Error("a print without features met something")
	}
}

// TestBudgetFallsInSteps: the budget of a look-up falls in few steps as the index grows,
// and never rises.
func TestBudgetFallsInSteps(t *testing.T) {
	b := New(Config{Full: 64})
	last, steps := b.probes(), 0
	for i := range uint32(8192) {
		b.Add(simhash.Fingerprint(i)*0x9e3779b97f4a7c15, i+1)
		n := b.probes()
		if i < 64 && n != defaultProbes {
			t.Fatalf("%d probes at %d fingerprints", n, i+1)
		}
		if i < 64*vast && n < leastProbes {
			t.Fatalf("%d probes at %d fingerprints", n, i+1)
		}
		if n > last {
			t.Fatalf("%d probes at %d fingerprints, after %d", n, i+1, last)
		}
		if n < last {
			steps, last = steps+1, n
		}
		if i >= 64*vast && n*int(i+1) > leastProbes*64*vast {
			t.Fatalf("%d probes at %d fingerprints visit more than %d at %d", n, i+1, leastProbes, 64*vast)
		}
	}
	if steps < 20 || steps > 8+8*3 || last != leastProbes*64*vast/8192 {
		t.Fatalf("%d steps, down to %d", steps, last)
	}
}
