package jsonl

import (
	"bytes"
	"encoding/json"
	"maps"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestItem: a corpus line gains the time of publishing in the form of the service,
// and nothing else changes.
func TestItem(t *testing.T) {
	for _, c := range []struct{ line, at string }{
		{`{"id":"a","body":"b","published":"2023-08-16 17:58:01"}`, "2023-08-16T17:58:01+08:00"},
		{`{"id":"a","body":"b","published":"2023-08-16T17:58"}`, "2023-08-16T17:58:00+08:00"},
		{`{ "published" : "2023-08-16" , "id":"a","body":"\"published\": \\"}`, "2023-08-16T00:00:00+08:00"},
		{`{"id":"a","title":"published","more":{"published":"x"},"list":["published",{"published":1}],"published": 1692180000000 }`, "2023-08-16T18:00:00+08:00"},
		{`{"id":"a","body":"\\\"published\":","published":"2023-08-16T17:58:01Z"}`, "2023-08-16T17:58:01Z"},
		{`{"id":"a","published":"gestern"}`, ""},
		{`{"id":"a","published":null}`, ""},
		{`{"id":"a","body":"published"}`, ""},
		{`{"id":"a","more":{"published":"2023-08-16"}}`, ""},
		{`{"id":"a","published":"2023-08-16","published":"2023-08-17"}`, "2023-08-17T00:00:00+08:00"},
		{`{"id":"a","published":"2023-08-16`, ""},
		{`{"id":"a","published":"2023-08-16"`, ""},
		{`{"id":"a","body":"b","published":"2023-08-16","published_at":"2023-08-17T00:00:00Z"}`, ""},
	} {
		got := Item([]byte(c.line))
		if c.at == "" {
			if !bytes.Equal(got, []byte(c.line)) {
				t.Errorf("%s became %s", c.line, got)
			}
			continue
		}
		var was, is map[string]any
		if err := json.Unmarshal([]byte(c.line), &was); err != nil {
			t.Fatal(err)
		}
		if err := json.Unmarshal(got, &is); err != nil {
			t.Fatalf("%s became %s: %v", c.line, got, err)
		}
		want := maps.Clone(was)
		want["published_at"] = c.at
		if diff := cmp.Diff(want, is); diff != "" {
			t.Errorf("%s (-want +got):\n%s", c.line, diff)
		}
	}
}
