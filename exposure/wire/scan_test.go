package wire

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
)

// slowIDs reads a request with encoding/json alone.
func slowIDs(body []byte) (user string, ids []string, ok bool) {
	var v map[string]json.RawMessage // of a field given twice the last counts, whatever the first was
	var items []json.RawMessage
	if json.Unmarshal(body, &v) != nil || v["items"] != nil && json.Unmarshal(v["items"], &items) != nil {
		return "", nil, false
	}
	if v["user"] != nil && json.Unmarshal(v["user"], &user) != nil {
		return "", nil, false
	}
	for _, raw := range items {
		var s string
		var n int64
		switch {
		case string(raw) == "null":
			return "", nil, false
		case json.Unmarshal(raw, &s) == nil:
		case json.Unmarshal(raw, &n) == nil && !strings.ContainsAny(string(raw), ".eE"):
			s = strconv.FormatInt(n, 10)
		default:
			return "", nil, false
		}
		if s == "" || len(s) > MaxIDBytes {
			return "", nil, false
		}
		ids = append(ids, s)
	}
	return user, ids, len(ids) <= MaxItems
}

// FuzzDecode holds both ways of reading a request to encoding/json: what is accepted has the
// same meaning there, and the answer spells the same ids.
func FuzzDecode(f *testing.F) {
	for _, s := range []string{
		`{"user":"u","items":["a","b"]}`,
		`{"user":"u","items":["a\/b","\u4e2d\ud83d\ude00",1,-5,-0,"x"],"max":3,"scene":"s"}`,
		"{ \"items\" :\t[ \"a\" , \"b\" ]\n, \"user\" : \"\u4e2d\" }",
		`{"user":"u","items":["a"],"items":["b"]}`,
		`{"items":"","items":[]}`,
		`{"USER":"u","Items":["a"],"x":{"y":[1,2,{"z":null}]}}`,
		`{"user":"u","items":["\ud800"]}`,
		`{"user":"u","items":[1e3,01,99999999999999999999]}`,
		`{"user":"u","items":["a",]}`,
		`{"user":"u","x":{"items":["a"]}}`, `{"user":"u","x":{"items":["a"]},"items":["b"]}`, `{"user":"items","items":["b"],"x":{"items":[]}}`,
		`{"us\u0065r":"u","items":["a"]}`,
		`{"user":null,"items":null,"max":null}`,
		`{}`, `[]`, `null`, `{"user":"u","items":["a"]} x`,
		`{"user":"u","items":["` + strings.Repeat(`item-000000001","`, 20) + `"]}`,
		`{"user":"u","items":["` + strings.Repeat(`item-1", "`, 20) + `,",","x" ,"y",7,"中"]}`,
		`{"items":["` + strings.Repeat("x", 250) + `","` + strings.Repeat("y", 257) + `"]}`,
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		var q Query
		if err := q.Decode(slices.Clone(body)); err != nil {
			return
		}
		user, ids, ok := slowIDs(body)
		if !ok {
			// The one thing allowed beyond: a user given as an integer.
			if _, err := strconv.ParseInt(q.User, 10, 64); err == nil {
				return
			}
			t.Fatalf("accepted %q, which encoding/json does not", body)
		}
		if user != q.User || len(ids) != q.Len() {
			t.Fatalf("%q: user %q and %d ids, want %q and %d", body, q.User, q.Len(), user, len(ids))
		}
		for i, id := range ids {
			if string(q.ID(i)) != id {
				t.Fatalf("%q: id %d is %q, want %q", body, i, q.ID(i), id)
			}
		}
		q.Max, q.AtLeast = 0, 0
		checkAnswer(t, &q, ids)
	})
}

// checkAnswer holds the answer that returns all ids to encoding/json.
func checkAnswer(t *testing.T, q *Query, ids []string) {
	t.Helper()
	a := answerTo(q, nil)
	out := a.AppendJSON(nil, a.Choose())
	var want []string // without repeats
	for _, id := range ids {
		if !slices.Contains(want, id) {
			want = append(want, id)
		}
	}
	_, back, ok := slowIDs(out)
	if !ok || !slices.Equal(back, want) {
		t.Fatalf("%q answered %q", ids, out)
	}
}

// TestScanIsFast: the ids of ordinary requests are not left to decode.
func TestScanIsFast(t *testing.T) {
	for _, body := range []string{
		`{"user":"u","items":["a","b"],"max":10,"at_least":1,"mark":"delivered","deadline_ms":5,"scope":"item","scene":"x"}`,
		`{"items":[1,2,-3],"user":"u"}`,
		"{ \"items\" : [ \"中\" , \"b\" ] , \"user\" : \"u\" }",
		`{"kind":"seen","user":"u","at":"2024-05-20T08:00:00Z","items":["a"]}`,
		`{"user":"u","items":[]}`,
	} {
		var q Query
		q.reset([]byte(body))
		from, to, ok := q.scanItems()
		if !ok {
			t.Errorf("%s: not scanned", body)
		} else if err := q.decode([]byte(body[:from]+"[]"+body[to:]), from); err != nil {
			t.Errorf("%s: %v", body, err)
		}
	}
}

// bestOf reports the shortest time of f: other work on the machine only ever adds to it.
func bestOf(b *testing.B, f func()) {
	best := time.Hour
	for range b.N {
		start := time.Now()
		f()
		best = min(best, time.Since(start))
	}
	b.ReportMetric(float64(best.Nanoseconds())/1000, "best-µs")
}

// benchBody is a request of 5,000 ids of 14 characters.
func benchBody() []byte {
	var items []string
	for i := range 5000 {
		items = append(items, fmt.Sprintf(`"item-%09d"`, i))
	}
	return []byte(`{"user":"u","items":[` + strings.Join(items, ",") + `]}`)
}
