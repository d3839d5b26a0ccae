package simhash

import (
	"math"
	"math/bits"
	"math/rand/v2"
	"testing"

	"pgregory.net/rapid"
)

type feature struct {
	hash   uint64
	weight float32
}

func features() *rapid.Generator[[]feature] {
	one := rapid.Custom(func(t *rapid.T) feature {
		w := rapid.OneOf(rapid.Float32Range(0.001, 60), rapid.Float32Range(200, 300), rapid.Float32Range(1, 1<<24)).Draw(t, "weight")
		return feature{rapid.Uint64().Draw(t, "hash"), w}
	})
	return rapid.SliceOfN(one, 0, 200)
}

func sumOf(list []feature) *Sum {
	var s Sum
	for _, f := range list {
		s.Add(f.hash, f.weight)
	}
	return &s
}

// plain is SimHash as the paper has it, bit by bit, on rounded weights.
func plain(list []feature) (v [Bits]float64) {
	for _, f := range list {
		w := math.Max(1, math.Floor(float64(f.weight*unit+0.5)))
		for b := range v {
			if f.hash>>b&1 == 1 {
				v[b] += w
			} else {
				v[b] -= w
			}
		}
	}
	return v
}

func TestSumIsThePapers(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		list := features().Draw(t, "features")
		s := sumOf(list)
		p, v := s.Print(), plain(list)
		var squares float64
		for _, x := range v {
			squares += x * x
		}
		for b, x := range v {
			if got := p.Fingerprint>>b&1 == 1; got != (x > 0) {
				t.Fatalf("bit %d is %v, the sum is %v", b, got, x)
			}
			want := 0.0
			if squares > 0 {
				want = math.Abs(x) / math.Sqrt(squares/Bits)
			}
			if math.Abs(float64(p.Margins[b])-want) > 1e-5 {
				t.Fatalf("margin of bit %d is %v, want %v", b, p.Margins[b], want)
			}
		}
	})
}

func TestOrderDoesNotMatter(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		list := features().Draw(t, "features")
		p := sumOf(list).Print()
		r := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 0))
		r.Shuffle(len(list), func(i, j int) { list[i], list[j] = list[j], list[i] })
		if q := sumOf(list).Print(); p != q {
			t.Fatalf("%v in one order, %v in another", p, q)
		}
	})
}

func TestSIsTheSumOverDifferingBits(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := sumOf(features().Draw(t, "features")).Print()
		c := Fingerprint(rapid.Uint64().Draw(t, "stored"))
		var want float64
		for b := range Bits {
			if p.Fingerprint>>b&1 != c>>b&1 {
				want += float64(p.Margins[b]) * float64(p.Margins[b])
			}
		}
		if got := float64(p.S(c)); math.Abs(got-want) > 1e-4 {
			t.Fatalf("S = %v, want %v", got, want)
		}
		if p.S(p.Fingerprint) != 0 {
			t.Fatalf("S of a print to itself is %v", p.S(p.Fingerprint))
		}
		if d := Distance(p.Fingerprint, c); d != bits.OnesCount64(uint64(p.Fingerprint^c)) {
			t.Fatalf("Distance = %d", d)
		}
	})
}

func TestEmpty(t *testing.T) {
	var s Sum
	if p := s.Print(); !p.Empty() || p.Fingerprint != 0 {
		t.Errorf("nothing added: %v", p)
	}
	s.Add(0xdeadbeef, 1)
	if p := s.Print(); p.Empty() || p.Fingerprint != 0xdeadbeef {
		t.Errorf("one feature: %v", p)
	}
}

func TestString(t *testing.T) {
	if s := Fingerprint(0xdeadbeef).String(); s != "00000000deadbeef" {
		t.Error(s)
	}
}

func BenchmarkSum(b *testing.B) {
	list := make([]feature, 400)
	r := rand.New(rand.NewPCG(1, 2))
	for i := range list {
		list[i] = feature{r.Uint64(), 1 + 10*r.Float32()}
	}
	var s Sum
	b.ReportAllocs()
	for b.Loop() {
		s = Sum{}
		for _, f := range list {
			s.Add(f.hash, f.weight)
		}
		s.Print()
	}
}
