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
