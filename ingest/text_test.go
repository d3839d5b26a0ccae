package ingest

import (
	"encoding/json"
	"testing"
)

// FuzzText holds the texts of a message to encoding/json, halves of surrogate pairs
// included.
func FuzzText(f *testing.F) {
	for _, s := range []string{`"台风"`, `"\ud83d\ude00"`, `"\ud83d"`, `"\ud83dx"`, `"\ud83d\u0041"`, `"\ude00\ud83d"`, `"\ud83d\ud83d\ude00"`, `"\u0000\n\"\/"`, `""`} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		payload := []byte(`{"id":"1","title":` + s + `}`)
		var want struct {
			Title string `json:"title"`
		}
		fields, err := decodeFields(payload)
		if err != nil || json.Unmarshal(payload, &want) != nil {
			return
		}
		if got, err := fields.text("title", MaxText); err == nil && got != want.Title {
			t.Fatalf("%s: %q, want %q", s, got, want.Title)
		}
	})
}
