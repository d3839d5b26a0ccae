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
// way, but for \u escapes.
func TestQuickItemIsTaken(t *testing.T) {
	at := time.Date(2026, 1, 2, 3, 4, 5, 6000, time.UTC)
	it := &Item{ID: "a", Title: "题", Body: "正文\n\t\"引\" \\ " + strings.Repeat("长", 1000), Source: "s", URL: "https://x/y?a=b", Published: &at, Revision: 3}
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
