package ingest

import (
	"encoding/json"
	"maps"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"
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
		p := decodePayload(payload)
		if p.err != nil || json.Unmarshal(payload, &want) != nil {
			return
		}
		if got := p.text("title", MaxText); p.err == nil && got != want.Title {
			t.Fatalf("%s: %q, want %q", s, got, want.Title)
		}
	})
}

// FuzzDecodePayload holds the values of a payload to encoding/json, which takes a name twice.
func FuzzDecodePayload(f *testing.F) {
	for _, s := range []string{`{"id":"1","title":"台风","revision":3}`, `{"a":1,"a":{"b":[true,null]}}`, ` { } `, `{"a":1}x`, `[1]`, `null`, `{"a":"\ud83d"}`, `{"a":01}`, `{"\u0061":1,"a" : 2 }`, `{"a":1,}`} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		if !utf8.Valid(data) {
			return
		}
		p := decodePayload(data)
		got := p.values
		if p.err != nil && strings.HasSuffix(p.err.Problem, "twice in one object") {
			return
		}
		var want map[string]json.RawMessage
		if otherwise := json.Unmarshal(data, &want); (p.err == nil) != (otherwise == nil && want != nil) {
			t.Fatalf("%q: %q, %v, but encoding/json: %v", data, got, p.err, otherwise)
		}
		if p.err == nil && !maps.EqualFunc(got, want, func(a jsontext.Value, b json.RawMessage) bool { return string(a) == string(b) }) {
			t.Fatalf("%q: %q, want %q", data, got, want)
		}
	})
}
