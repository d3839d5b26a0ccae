package prepared_test

import (
	"bytes"
	"reflect"
	"slices"
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
	in := sketch.Input{Title: "通报", Body: "第一段的内容有三十个人参加\n第二段说的是别的事情", Names: []string{"北京", "张三"}, Sentences: []int32{0, 37}, Published: 20000}
	a := &index.Article{ID: "n1", Revision: 3, Title: "通报", Source: "甲报", URL: "https://example.com/1", Published: time.Unix(1728000000, 5).UTC(),
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
		a.Text.Sentences = rapid.SliceOfN(rapid.Int32(), 1, 5).Draw(t, "sentences")
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
		if err != nil || !reflect.DeepEqual(withoutMargins(again), withoutMargins(a)) {
			t.Fatalf("%v: %+v %+v", err, a, again)
		}
	})
}

// withoutMargins is an article without its margins, which may be no numbers.
func withoutMargins(a *index.Article) index.Article {
	c := *a
	c.Print.Margins = [simhash.Bits]float32{}
	return c
}

// What a message holds is what was appended to it, and a part of it is not another one that would have as many fields.
func FuzzDecodeMessage(f *testing.F) {
	message := func(fields ...[]byte) []byte {
		b := []byte{prepared.Version}
		for _, f := range fields {
			b = prepared.Append(b, f)
		}
		return b
	}
	b := message([]byte("recipe"), nil, bytes.Repeat([]byte("x"), 300))
	f.Add(b)
	f.Add(b[:len(b)-1])
	f.Add([]byte(`{"id":"1"}`))
	f.Fuzz(func(t *testing.T, b []byte) {
		fields, err := prepared.DecodeMessage(b)
		if err != nil {
			return
		}
		again := message(fields...)
		if got, err := prepared.DecodeMessage(again); err != nil || !slices.EqualFunc(got, fields, bytes.Equal) {
			t.Fatalf("%v: %q, want %q", err, got, fields)
		}
		for n := range min(len(again), 1000) {
			if got, err := prepared.DecodeMessage(again[:n]); err == nil && len(got) >= len(fields) {
				t.Fatalf("%d of %d bytes have all %d fields", n, len(again), len(fields))
			}
		}
	})
}
