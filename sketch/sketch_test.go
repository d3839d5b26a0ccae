package sketch

import (
	"encoding/hex"
	"slices"
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

// TestDecodeVersion1 reads a sketch that was encoded when a text had no key of its opening.
func TestDecodeVersion1(t *testing.T) {
	const encoded = "01564f4f0493e9213a39f4646be34450483007db0c010200d0d020d04600d10f0006700db08700aee83d008930040860a008c70aea905b700074500000f706dd271e89ec95743b81ca30" +
		"040cee5ab180450dcd3f95000009000000000030050000000080006c6cf515680d7f67b11e578920d40e081c4570d110a6e23a7e5352396625e1ed48d220348ca3b68697fd8976446bf193f68add5399fc2d8b620a9b0b649f" +
		"35c039a3102e9d4ca68318074411e3e61aceec1ace55609a949f23b6aae322cf23"
	b, err := hex.DecodeString(encoded)
	if err != nil {
		t.Fatal(err)
	}
	s, err := Decode(b)
	if err != nil {
		t.Fatal(err)
	}
	now := Make(Input{Body: article(6, 1)})
	if c := Compare(&now, &s); c.Resemblance != 1 || c.TokensA != c.TokensB || !slices.Equal(s.Keys(), now.Keys()) || s.npassages != passages-1 {
		t.Errorf("%+v, %d passages", c, s.npassages)
	}
	again, err := Decode(s.AppendBinary(nil))
	if err != nil || again != s {
		t.Errorf("encoded again: %+v, %v", again, err)
	}
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
