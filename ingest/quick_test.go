package ingest

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// FuzzQuickItem: the quick way takes nothing that the long way refuses, and
// reads the same from it.
func FuzzQuickItem(f *testing.F) {
	for _, s := range []string{
		`{"id":"a","title":"t","body":"正文\n“引号”\\ \"x\" \/ \t"}`,
		` { "id" : "1" , "body":"b", "revision": 12 , "published_at":"2026-01-02T15:04:05.5+08:00"} `,
		`{"id":"a","body":"b","revision":012}`, `{"id":"a","body":"b","revision":-1}`, `{"id":"a","body":"b","revision":1.5}`, `{"id":"a","body":"b","revision":1e3}`,
		`{"id":7,"body":"b"}`, `{"id":null,"body":"b"}`, `{"id":"a","body":"\u4e2d\ud83d"}`, `{"id":"a","body":"b","id":"c"}`,
		`{"id":"a","body":"b",}`, `{"id":"a","body":"b"} x`, `{"ID":"a","body":"b"}`, `{"id":"a","body":"b","extra":[1,{}]}`, `{}`, `{"id":"a"}`,
		`{"id":"","body":"b"}`, "{\"id\":\"a\x01\",\"body\":\"b\"}", `{"id":"a\n","body":"b"}`, `{"id":"a","body":"b","published_at":"gestern"}`,
		`{"id":"a","body":"b","published_at":""}`, `{"id":"a","body":"b","revision": }`, `{"id":"a","body":"b`, `{"id":"a","body":"\`, "\xff",
		`{"id":"\u003ca\u003e","body":"\ud83d\ude00\u00e9\uD83D\uDE00","published":"2023\u002d08"}`, `{"id":"a","body":"\ud83d\u0041"}`,
		`{"id":"a","body":"\ude00"}`, `{"id":"a","body":"\u00g0"}`, `{"id":"a","body":"\u+123"}`, `{"id":"a","body":"\u12`, `{"id":"a","body":"\ud83d\`,
		`{"id":"a","extra":"x","extra":"y","body":"b"}`, `{"id":"a","extra":"\ud83d","body":"b"}`, `{"id":"a","body":"1234567\u00001234567"}`,
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		quick, ok := quickItem(data)
		if !ok {
			return
		}
		long, err := decodeItem(data)
		if err != nil {
			t.Fatalf("the quick way takes %q, which %v", data, err)
		}
		if diff := cmp.Diff(long, quick); diff != "" {
			t.Fatalf("%q (-long +quick):\n%s", data, diff)
		}
	})
}

// TestQuickItemIsTaken: what encoding/json writes of an item goes the quick
// way.
func TestQuickItemIsTaken(t *testing.T) {
	at := time.Date(2026, 1, 2, 3, 4, 5, 6000, time.UTC)
	it := &Item{ID: "a", Title: "题", Body: "<b>正文</b>\n\t\"引\" \\ \u2028 " + strings.Repeat("长", 1000), Source: "s", URL: "https://x/y?a=b", Published: &at, Revision: 3}
	data, err := json.Marshal(it)
	if err != nil {
		t.Fatal(err)
	}
	got, ok := quickItem(data)
	if !ok {
		t.Fatalf("%s goes the long way", data)
	}
	if diff := cmp.Diff(it, got); diff != "" {
		t.Fatal(diff)
	}
}

// TestPlain: wherever in a word a byte that ends a run stands, it is found.
func TestPlain(t *testing.T) {
	for length := range 20 {
		for at := range length {
			for _, c := range []byte("\"\\\x00\x1f") {
				b := []byte(strings.Repeat("\x7f长 !", length))[:length]
				b[at] = c
				if got := plain(b); got != at {
					t.Fatalf("%q: %d, want %d", b, got, at)
				}
			}
		}
	}
}

func BenchmarkDecodeItem(b *testing.B) {
	it := &Item{ID: "a", Title: "题", Body: strings.Repeat("正文有“引号”和\n换行。", 60), Source: "s"}
	data, err := json.Marshal(it)
	if err != nil {
		b.Fatal(err)
	}
	for name, decode := range map[string]func([]byte) (*Item, error){"quick": DecodeItem, "long": decodeItem} {
		b.Run(name, func(b *testing.B) {
			b.SetBytes(int64(len(data)))
			for b.Loop() {
				if _, err := decode(data); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
