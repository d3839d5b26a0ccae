package sketch

import (
	"testing"

	"pgregory.net/rapid"
)

// TestOutlineSaysWhatCompareSays compares both for any two texts: unrelated, related and
// blank ones, with outlines made from a sketch and from its encoding.
func TestOutlineSaysWhatCompareSays(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		x := drawText(t, "x")
		y := drawText(t, "y")
		if at := rapid.IntRange(0, len([]rune(x))).Draw(t, "kept"); rapid.Bool().Draw(t, "relatives") {
			y = string([]rune(x)[:at]) + y
		}
		q, c := Make(Input{Body: x}), Make(Input{Body: y})
		a, b := q.Outline(), c.Outline()
		want := Compare(&q, &c)
		if j, inA, inB := a.Overlap(&b.Minima, b.Shingles); j != want.Resemblance || inA != want.ContainedA || inB != want.ContainedB {
			t.Fatalf("%v %v %v, want %v %v %v", j, inA, inB, want.Resemblance, want.ContainedA, want.ContainedB)
		}
		decoded, err := DecodeOutline(q.AppendBinary(nil))
		if err != nil || decoded != a {
			t.Fatalf("%+v (%v), want %+v", decoded, err, a)
		}
		if (a.Shingles == 0) != (q.Tokens == 0) {
			t.Fatalf("%d shingles of %d tokens", a.Shingles, q.Tokens)
		}
	})
}

// FuzzDecodeOutline: what Decode takes has the outline that it decodes to, and
// nothing panics.
func FuzzDecodeOutline(f *testing.F) {
	s := Make(Input{Body: "今天8月9日北京发布3000个公告\n涨3.5%"})
	f.Add(s.AppendBinary(nil))
	f.Fuzz(func(t *testing.T, b []byte) {
		o, err := DecodeOutline(b)
		s, serr := Decode(b)
		if serr == nil && (err != nil || o != s.Outline()) {
			t.Fatalf("%x: %+v (%v), want %+v", b, o, err, s.Outline())
		}
	})
}

func BenchmarkOverlap(b *testing.B) {
	x := Make(Input{Body: "今天8月9日北京发布3000个公告\n涨3.5%"})
	y := Make(Input{Body: "今天8月10日上海发布3000个新的公告\n涨3.6%"})
	p, q := x.Outline(), y.Outline()
	for b.Loop() {
		p.Overlap(&q.Minima, q.Shingles)
	}
}
