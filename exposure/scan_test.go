package exposure

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"
	"unicode/utf8"
)

// slowIDs reads a request with encoding/json alone.
func slowIDs(body []byte) (user string, ids []string, ok bool) {
	var v struct {
		User  *json.RawMessage
		Items *json.RawMessage // of a field given twice the last counts, whatever the first was
	}
	var items []json.RawMessage
	if json.Unmarshal(body, &v) != nil || v.Items != nil && json.Unmarshal(*v.Items, &items) != nil {
		return "", nil, false
	}
	if v.User != nil && json.Unmarshal(*v.User, &user) != nil {
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

// FuzzDecode holds both ways of reading a request against encoding/json: what is
// accepted means what it says there, and the tokens kept for the answer mean the same.
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
		var m message
		if err := m.decode(slices.Clone(body)); err != nil {
			return
		}
		user, ids, ok := slowIDs(body)
		if !ok {
			// The one thing allowed beyond: a user given as an integer.
			if _, err := strconv.ParseInt(m.user, 10, 64); err == nil {
				return
			}
			t.Fatalf("accepted %q, which encoding/json does not", body)
		}
		if user != m.user || len(ids) != len(m.spans) {
			t.Fatalf("%q: user %q and %d ids, want %q and %d", body, m.user, len(m.spans), user, len(ids))
		}
		m.marks = make([]byte, len(ids))
		for i, id := range ids {
			if string(m.id(i)) != id {
				t.Fatalf("%q: id %d is %q, want %q", body, i, m.id(i), id)
			}
			m.answer = append(m.answer, uint32(i))
		}
		answer := m.appendJSON(nil, Outcome{Items: len(ids)})
		_, back, ok := slowIDs(answer)
		if !ok || !slices.Equal(back, ids) {
			t.Fatalf("%q: answered %q", body, answer)
		}
	})
}

// TestScanIsFast makes sure that ordinary requests do not take the slow way.
func TestScanIsFast(t *testing.T) {
	for _, body := range []string{
		`{"user":"u","items":["a","b"],"max":10,"at_least":1,"mark":"delivered","deadline_ms":5,"scope":"item","scene":"x"}`,
		`{"items":[1,2,-3],"user":"u"}`,
		`{"items":["a\/b"],"user":"u"}`,
		" { \"items\" : [ \"中\" , \"b\" ] ,\n\t\"user\" : \"u\" } ",
		`{"kind":"seen","user":"u","at":"2024-05-20T08:00:00Z","items":["a"]}`,
		`{"user":"u","items":[]}`,
	} {
		m := message{}
		m.reset([]byte(body))
		if ok, err := m.scan(); !ok || err != nil {
			t.Errorf("%s: %v, %v", body, ok, err)
		}
	}
}

// TestRuns: neighbours are answered in one piece, and every pattern reads as JSON.
func TestRuns(t *testing.T) {
	var m message
	if err := m.decode([]byte(`{"user":"u","items":["a" , 2,"c","d",5]}`)); err != nil {
		t.Fatal(err)
	}
	ids := []string{"a", "2", "c", "d", "5"}
	for mask := range 32 {
		m.answer = m.answer[:0]
		want := []string{}
		for i := range 5 {
			if mask>>i&1 == 0 {
				m.answer = append(m.answer, uint32(i))
				want = append(want, ids[i])
			}
		}
		out := m.appendJSON(nil, Outcome{})
		_, got, ok := slowIDs(out)
		if !ok || !slices.Equal(got, want) && len(want) > 0 {
			t.Errorf("%05b: %s", mask, out)
		}
	}
}

func TestAppendString(t *testing.T) {
	for r := rune(0); r < 0x300; r++ {
		s := "x" + string(r) + "y"
		var got string
		if err := json.Unmarshal(appendString(nil, s), &got); err != nil || got != s || !utf8.ValidString(got) {
			t.Fatalf("%U: %q, %v", r, got, err)
		}
	}
}

func BenchmarkScan(b *testing.B) {
	var items []string
	for i := range 5000 {
		items = append(items, fmt.Sprintf("%q", benchID(i)))
	}
	body := []byte(`{"user":"u","items":[` + strings.Join(items, ",") + `]}`)
	var m message
	b.SetBytes(int64(len(body)))
	for range b.N {
		if err := m.decode(body); err != nil {
			b.Fatal(err)
		}
	}
}
