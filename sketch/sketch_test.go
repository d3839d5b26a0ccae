package sketch

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

var letters = rapid.SampledFrom([]rune("我们今天在北京上海发布了新的公告三十万亿0123456789年月日ab \n"))

func drawText(t *rapid.T, label string) string {
	return rapid.StringOfN(letters, 0, 400, -1).Draw(t, label)
}

func TestEncodingRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := Make(Input{Title: drawText(t, "title"), Body: drawText(t, "body")})
		b := s.AppendBinary(nil)
		if len(b) > MaxEncoded {
			t.Fatalf("%d bytes", len(b))
		}
		got, err := Decode(b)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(s, got, cmp.AllowUnexported(Sketch{}, slot{})); diff != "" {
			t.Fatal(diff)
		}
	})
}

func FuzzDecode(f *testing.F) {
	s := Make(Input{Body: "今天8月9日北京发布3000个公告\n涨3.5%"})
	f.Add(s.AppendBinary(nil))
	f.Fuzz(func(t *testing.T, b []byte) {
		s, err := Decode(b)
		if err != nil {
			return
		}
		if again, err := Decode(s.AppendBinary(nil)); err != nil || again != s {
			t.Fatalf("decoded %x does not come back: %v", b, err)
		}
		Compare(&s, &s)
		s.Keys()
	})
}

// FuzzCompareTexts: any bytes compare, in bounds.
func FuzzJudge(f *testing.F) {
	f.Add("8月9日三千人\nabc 3.5%", "8月10日三千人", "标题")
	f.Fuzz(func(t *testing.T, x, y, title string) {
		c := compareTexts(Input{Title: title, Body: x, Names: []string{title}}, Input{Title: y, Body: y})
		for _, v := range []float32{c.Resemblance, c.ContainedA, c.ContainedB, c.SoftA, c.SoftB, c.Layout.HeadA, c.Layout.HeadB} {
			if !(v >= 0 && v <= 1) {
				t.Fatalf("%+v", c)
			}
		}
		if l := c.Layout; l.RestA > c.TokensA || l.RestB > c.TokensB {
			t.Fatalf("%+v", c)
		}
		j := Judge(c, DefaultThresholds())
		if !(j.Score >= 0 && j.Score <= 1 && j.Story >= 0 && j.Story <= 1) {
			t.Fatalf("%+v", j)
		}
	})
}

// TestEstimate compares the estimate from packed minima with one that looks at each bin.
func TestEstimate(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := 16 * rapid.IntRange(0, 6).Draw(t, "bins")
		bin := rapid.SliceOfN(rapid.ByteRange(0, 15), n, n)
		a, b := bin.Draw(t, "a"), bin.Draw(t, "b")
		for i := range a {
			if rapid.IntRange(0, 2).Draw(t, "agree") > 0 {
				b[i] = a[i]
			}
		}
		full, used, same := 0., 0., 0.
		for i := range a {
			if a[i] != 0 || b[i] != 0 {
				used++
			}
			if a[i] != 0 && b[i] != 0 {
				full++
				if a[i] == b[i] {
					same++
				}
			}
		}
		want := 0.
		if used > 0 {
			want = min(1, max(0, (same-full/15)/(used*14/15)))
		}
		packed := func(bins []byte) (minima []byte) {
			for i := 0; i < n; i += 2 {
				minima = append(minima, bins[i]|bins[i+1]<<4)
			}
			return minima
		}
		if got := estimate(packed(a), packed(b)); max(got-want, want-got) > 1e-12 {
			t.Fatalf("estimate(%v, %v) = %v, want %v", a, b, got, want)
		}
	})
}
