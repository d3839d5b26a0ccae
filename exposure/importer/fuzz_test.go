package importer

import (
	"testing"
)

// FuzzParseLine: a line that is taken has a user, a kind and every item of the line.
func FuzzParseLine(f *testing.F) {
	f.Add([]byte(`{"user":"u","items":["a","b"],"at":"2026-03-01T08:00:00Z","kind":"delivered","scene":"feed"}`))
	f.Add([]byte(`{"user":"","items":[]}`))
	f.Fuzz(func(t *testing.T, line []byte) {
		u, err := parseLine(line)
		if err != nil {
			return
		}
		if u.Name == "" || u.Held != len(u.Exposures) || u.Kind == "" {
			t.Fatalf("%+v", u)
		}
	})
}
