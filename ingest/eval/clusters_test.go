package eval

import (
	"math/rand/v2"
	"strconv"
	"testing"

	"jianguo/index"
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

// TestLevels: each position of the dial rejects what the stricter one before it rejects, and
// the middle one is the default.
func TestLevels(t *testing.T) {
	items, pairs := samplePairs(t)
	b := bench(t, items, nil)
	judged, err := b.Pairs(t.Context(), pairs)
	if err != nil {
		t.Fatal(err)
	}
	repeats, sample, err := b.repeat(t.Context(), judged, len(items), 1)
	if err != nil {
		t.Fatal(err)
	}
	rejected := make(map[string][]bool)
	for _, s := range index.Strictnesses {
		again, _, err := b.rejudge(t.Context(), b.policy.At(s), repeats, sample)
		if err != nil {
			t.Fatal(err)
		}
		for i := range again {
			rejected[s] = append(rejected[s], again[i].Verdict == index.Duplicate)
			if s == "rewrites" && again[i].Verdict != judged[i].Verdict {
				t.Errorf("%s is %v at %s, and %v by default", judged[i].Later, again[i].Verdict, s, judged[i].Verdict)
			}
		}
	}
	moved := 0
	for i := range judged {
		c, r, s := rejected["copies"][i], rejected["rewrites"][i], rejected["stories"][i]
		if c && !r || r && !s {
			t.Errorf("%s is rejected: %v, %v, %v", judged[i].Later, c, r, s)
		}
		if c != s {
			moved++
		}
	}
	if moved < 2 {
		t.Errorf("only %d of %d pairs move", moved, len(judged))
	}
}
