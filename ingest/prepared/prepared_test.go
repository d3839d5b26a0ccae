package prepared_test

import (
	"reflect"
	"testing"
	"time"

	"pgregory.net/rapid"

	"jianguo/index"
	"jianguo/ingest/prepared"
	"jianguo/ingest/prepared/encode"
	"jianguo/simhash"
	"jianguo/sketch"
)

func example() *index.Article {
	in := sketch.Input{Title: "通报", Body: "第一段的内容有三十个人参加\n第二段说的是别的事情", Names: []string{"北京", "张三"}, Published: 20000}
	a := &index.Article{ID: "n1", Revision: 3, Title: "通报", Source: "甲报", URL: "https://example.com/1", Published: time.Unix(1728000000, 5).UTC(), Recipe: "r1",
		Packed: index.PackText(in.Body), Exact: [16]byte{1, 2, 3}, Text: in, Sketch: sketch.Make(in)}
	a.Print.Fingerprint = 0xfeed
	for i := range a.Print.Margins {
		a.Print.Margins[i] = float32(i) / 7
	}
	return a
}

// What is decoded is what was encoded.
func TestRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a := example()
		a.ID, a.Title, a.Source = rapid.String().Draw(t, "id"), rapid.String().Draw(t, "title"), rapid.String().Draw(t, "source")
		a.Revision, a.Text.Body = rapid.Int64().Draw(t, "revision"), rapid.String().Draw(t, "body")
		a.Text.Names = rapid.SliceOfN(rapid.StringN(1, 9, -1), 1, 5).Draw(t, "names")
		a.Print.Fingerprint = simhash.Fingerprint(rapid.Uint64().Draw(t, "fingerprint"))
		a.Blank = rapid.Bool().Draw(t, "blank")
		if rapid.Bool().Draw(t, "dropped") {
			a.Packed = nil
		}
		if rapid.Bool().Draw(t, "undated") {
			a.Published, a.Text.Published = time.Time{}, 0
		}
		b := encode.Append(nil, a)
		got, err := prepared.Decode(b)
		if err != nil || !reflect.DeepEqual(got, a) {
			t.Fatalf("%v:\n%+v\n%+v", err, got, a)
		}
		if cut := rapid.IntRange(0, len(b)-1).Draw(t, "cut"); cut < len(b)/2 {
			if _, err := prepared.Decode(b[:cut]); err == nil {
				t.Fatalf("%d of %d bytes are an article", cut, len(b))
			}
		}
	})
}

func FuzzDecode(f *testing.F) {
	b := encode.Append(nil, example())
	f.Add(b)
	f.Add(b[:len(b)/2])
	f.Add([]byte{prepared.Version})
	f.Fuzz(func(t *testing.T, b []byte) {
		a, err := prepared.Decode(b)
		if err != nil {
			return
		}
		again, err := prepared.Decode(encode.Append(nil, a))
		if err != nil || again.ID != a.ID || again.Text.Body != a.Text.Body || again.Exact != a.Exact {
			t.Fatalf("%v: %+v %+v", err, a, again)
		}
	})
}
